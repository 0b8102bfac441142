#include "poller/delivery/tmux_sink.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "poller/pause.hpp"
#include "poller/processes.hpp"
#include "schema/ids.hpp"
#include "schema/printable.hpp"
#include "schema/teammate_message.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

/// Programs whose keys run commands, or whose files would get the text; a person opened them for the moment.
constexpr std::array<std::string_view, 19> pagers_and_editors = {
    "es",   "rc",   "su",   "login", "sudo",  // or start a shell
    "less", "more", "most", "man",   "info", "vi", "vim", "nvim", "view", "nano", "emacs", "ed", "ex", "helix"};

/// Line ends from which the clients show "[Pasted text #1 +3 lines]" instead of the text (2.1.50, 2.1.330).
constexpr std::ptrdiff_t shown_as_sign = 3;

/// Time for a client to show a paste or its submission, and the interval of the checks.
constexpr std::chrono::milliseconds patience{10'000};
constexpr std::chrono::milliseconds look_again{50};

/// Keys to withdraw one paste: two per row, and a client shows a row or two.
constexpr int most_keys = 40;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Login shell of this user, whatever its name; empty when unknown.
std::string login_shell() {
  std::array<char, 4096> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, space.data(), space.size(), &found) != 0 || found == nullptr) return {};
  return found->pw_shell == nullptr ? "" : std::string(base_name(found->pw_shell));
}

/// Removes the number of a name such as "bash-5.2" or "zsh5".
std::string_view without_version(std::string_view name) {
  const auto end = name.find_last_not_of("0123456789.");
  if (end == std::string_view::npos || end + 1 == name.size()) return name;
  name = name.substr(0, end + 1);
  return name.ends_with('-') ? name.substr(0, name.size() - 1) : name;
}

/// Reason why nothing may be pasted there now; empty when it may.
std::string in_the_way(const Front& front) {
  const std::string pane = "the pane " + front.pane.id;
  if (front.pane.dead) return pane + " is dead: start the lead again";
  if (front.in_mode) return pane + " is in copy mode, or shows a menu: leave it (q)";
  if (!front.takes_input) return pane + " takes no input: allow it with `tmux select-pane -e -t " + front.pane.id + "`";
  if (front.synchronized)
    return pane + " shares its input with other panes: end that with `tmux set-option -w -t " + front.pane.id +
           " synchronize-panes off`";
  if (front.command.empty()) return "tmux cannot tell which program is in front in the pane " + front.pane.id;
  if (obeys_pastes(front.command))
    return schema::printable(front.command) + " is in front in the pane " + front.pane.id +
           ", which would carry out what is pasted: start the lead there, or bring it to the front. A lead that a "
           "script starts must take the script's place (exec)";
  return {};
}

}  // namespace

bool obeys_pastes(std::string_view command) {
  const auto name = without_version(base_name(command.substr(command.starts_with('-') ? 1 : 0)));
  const auto is_listed = [&](const auto& list) { return std::find(list.begin(), list.end(), name) != list.end(); };
  if (is_shell_name(command) || is_listed(pagers_and_editors)) return true;
  const char* configured = std::getenv("SHELL");
  return !name.empty() && (name == without_version(login_shell()) ||
                           (configured != nullptr && name == without_version(base_name(configured))));
}

std::string why_not(const schema::ScreenReading& reading) {
  using schema::ScreenKind;
  switch (reading.kind) {
    case ScreenKind::empty_prompt: return {};
    case ScreenKind::draft: return "its composer holds text: submit or clear it";
    case ScreenKind::running: return "the lead is working";
    case ScreenKind::dialog: return "a dialog is open, which Enter would answer: answer it";
    case ScreenKind::menu: return "a list is open, from which Enter would choose: close it (Escape)";
    case ScreenKind::transcript: return "it shows the transcript: leave that (ctrl+o)";
    case ScreenKind::unknown: break;
  }
  return "its screen does not show a composer that we know, empty";
}

std::string paste_safe(std::string_view text) { return schema::visible(text); }

std::string TmuxSink::unavailable(const std::string& told) const {
  const auto& pane = context_.config.delivery.tmux.pane.empty() ? told : context_.config.delivery.tmux.pane;
  if (pane.empty()) return "no pane of the lead is known: set delivery.tmux.pane, or install the lead's hooks";
  return schema::is_pane_id(pane) ? "" : "the lead's pane is said to be " + schema::printable(pane) + ", which is not the name of a tmux pane (%0, %1 …)";
}

std::string TmuxSink::text_for(const std::vector<LeasedMessage>& messages) {
  auto text = paste_safe(block(messages));
  for (auto lines = std::count(text.begin(), text.end(), '\n'); lines < shown_as_sign; ++lines) text += '\n';
  return text;
}

std::string TmuxSink::pointer(std::size_t count) const {
  return (may_repeat_ ? "[may be a repeat] " : "") + std::to_string(count) +
         (count == 1 ? " message of your team waits. Read it with: "
                     : " messages of your team wait. Read them with: ") +
         "inbox-poller recv --ignore-busy --team " + context_.name;
}

asio::awaitable<Result<TmuxSink::Seen>> TmuxSink::look(std::string told) {
  if (auto why = unavailable(told); !why.empty()) co_return Error{"tmux.pane", why};
  std::string id = context_.config.delivery.tmux.pane.empty() ? told : context_.config.delivery.tmux.pane;
  auto front = co_await panes_.front(id);
  if (!front) co_return Error{"tmux.unavailable", front.error().message};
  if (!*front)
    co_return Error{"tmux.pane", "tmux does not know pane " + id +
                                     ": start the lead in one, or correct delivery.tmux.pane or delivery.tmux.command"};
  const Pane& now = (*front)->pane;
  if (!bound_ || bound_->id != now.id) {
    bound_ = now;
    uncleared_.clear();  // it concerned another pane
  }
  if (!is_same(now, *bound_))
    co_return Error{"tmux.pane", "the pane " + now.id +
                                     " is another one than at first (its first process or its tmux server changed): "
                                     "if the lead lives there now, restart inbox-poller"};
  if (auto why = in_the_way(**front); !why.empty()) co_return Error{"tmux.refused", why};
  Seen seen{std::move(**front), {}};
  seen.reading = schema::read_screen(seen.front.screen);
  seen.front.held_from = seen.reading.frame;
  co_return seen;
}

asio::awaitable<Status> TmuxSink::clear_paste(std::string told) {
  bool last_was_line = false;
  for (int keys = 0; keys < most_keys; ++keys) {
    std::string where = told;
    CO_TRY(auto seen, co_await look(std::move(where)));
    const auto& [kind, typed, at_end, at_line_start, frame] = seen.reading;
    if (kind == schema::ScreenKind::empty_prompt || (kind == schema::ScreenKind::running && typed.empty())) {
      uncleared_.clear();
      if (keys == 0) co_return Error{"tmux.enter", "the pasted text was submitted or cleared by a person"};
      may_repeat_ = false;
      co_return Done{};
    }
    const bool there = kind == schema::ScreenKind::draft || kind == schema::ScreenKind::running;
    const bool only_blanks = keys > 0 && typed.empty();
    if (!there || !(only_blanks || schema::holds_rest_of(seen.reading, uncleared_))) break;
    // A backspace removes an empty last row in 2.1.50; in newer clients either key does.
    const auto key = at_line_start || last_was_line ? Key::erase_back : Key::erase_line;
    last_was_line = key == Key::erase_line && !last_was_line;
    auto pressed = co_await panes_.press(std::move(seen.front), key);
    if (pressed.how == Typed::How::unknown) co_return Error{"panes.unavailable", pressed.why};
    co_await pause(look_again);
  }
  co_return Error{"tmux.enter",
                  "what was pasted may stand in the terminal, not submitted: press Enter there or clear it"};
}

asio::awaitable<Status> TmuxSink::ready(std::string told) {
  CO_TRY(co_await look_for_empty(std::move(told)));
  co_return Done{};
}

asio::awaitable<Result<TmuxSink::Seen>> TmuxSink::look_for_empty(std::string told) {
  std::string where = told;
  auto seen = co_await look(std::move(where));
  if (!seen) co_return seen.error();
  if (!uncleared_.empty() && seen->reading.kind == schema::ScreenKind::draft &&
      schema::holds_rest_of(seen->reading, uncleared_)) {
    where = told;
    CO_TRY(co_await clear_paste(std::move(where)));
    seen = co_await look(std::move(told));
    if (!seen) co_return seen.error();
  }
  // From now on typed text belongs to a person, even if it reads like the start of ours.
  if (seen->reading.kind == schema::ScreenKind::empty_prompt) uncleared_.clear();
  if (auto why = why_not(seen->reading); !why.empty())
    co_return Error{"tmux.refused", "nothing is pasted into the pane " + seen->front.pane.id + ": " + why};
  co_return std::move(*seen);
}

asio::awaitable<Result<TmuxSink::Seen>> TmuxSink::look_for(std::string told, const std::string& text) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::string where = told;
    CO_TRY(auto seen, co_await look(std::move(where)));
    using schema::ScreenKind;
    const auto kind = seen.reading.kind;
    if (kind == ScreenKind::draft && seen.reading.at_end && schema::holds_exactly(seen.reading, text))
      co_return std::move(seen);
    const bool may_come = kind == ScreenKind::empty_prompt || kind == ScreenKind::draft || kind == ScreenKind::unknown;
    if (!may_come || std::chrono::steady_clock::now() >= until)
      co_return Error{"tmux.enter",
                      "the pane " + seen.front.pane.id + " does not show what was pasted and nothing else (" +
                          (kind == ScreenKind::empty_prompt ? "it shows nothing of it" : why_not(seen.reading)) +
                          "), so Enter was not pressed"};
    co_await pause(look_again);
  }
}

asio::awaitable<Status> TmuxSink::submit(std::string told, std::string text) {
  std::string where = told;
  CO_TRY(auto seen, co_await look_for(std::move(where), text));
  auto entered = co_await panes_.press(std::move(seen.front), Key::enter);
  if (entered.how == Typed::How::unknown)
    co_return Error{"tmux.unknown", entered.why + ": what was pasted may have been submitted"};
  if (!entered) co_return Error{"tmux.enter", entered.why + ": Enter was not pressed"};
  const auto until = std::chrono::steady_clock::now() + patience;
  bool known = false;
  while (std::chrono::steady_clock::now() < until) {
    where = told;
    auto after = co_await look(std::move(where));
    if (!after) break;
    known = after->reading.kind != schema::ScreenKind::unknown;
    // Our text does not wait for Enter any more.
    if (known && !schema::holds_rest_of(after->reading, text)) co_return Done{};
    co_await pause(look_again);
  }
  if (!known)
    co_return Error{"tmux.unknown", "it is not to be seen whether Enter submitted what was pasted: it may have been"};
  co_return Error{"tmux.enter", "Enter did not submit what was pasted"};
}

asio::awaitable<Status> TmuxSink::paste(std::string told, std::string text) {
  std::string where = told;
  CO_TRY(auto seen, co_await look_for_empty(std::move(where)));
  const auto settle = context_.config.delivery.tmux.settle;
  // The team's name needs no escaping in tmux's command language.
  std::string buffer = "inbox-poller-" + std::to_string(::getpid()) + "-" + context_.name;
  std::string safe = paste_safe(text);
  auto pasted = co_await panes_.paste(std::move(seen.front), std::move(buffer), std::move(safe));
  if (pasted.how == Typed::How::changed) co_return Error{"tmux.refused", pasted.why + ": nothing was pasted"};
  uncleared_ = paste_safe(text);
  may_repeat_ = true;
  if (!pasted) co_return Error{"tmux.unknown", pasted.why + "; the text may stand in the terminal, not submitted"};
  co_await pause(settle);  // a long paste takes the program a while
  where = told;
  auto submitted = co_await submit(std::move(where), std::move(text));
  if (submitted) {
    uncleared_.clear();
    may_repeat_ = false;
    co_return Done{};
  }
  auto back = co_await clear_paste(std::move(told));
  co_return Error{"tmux.enter",
                  submitted.error().message + (back ? "; the text was taken back" : "; " + back.error().message)};
}

}  // namespace inbox_poller::poller
