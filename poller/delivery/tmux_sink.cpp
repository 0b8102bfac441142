#include "poller/delivery/tmux_sink.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "poller/pause.hpp"
#include "schema/printable.hpp"
#include "schema/teammate_message.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::array<std::string_view, 27> shells = {"sh",   "bash",   "dash", "zsh", "fish",  "ksh",     "mksh",
                                                     "oksh", "ksh93",  "tcsh", "csh", "ash",   "busybox", "rbash",
                                                     "yash", "elvish", "nu",   "ion", "xonsh", "osh",     "ysh",
                                                     "pwsh", "es",     "rc",   "su",  "login", "sudo"};

/// Their keys run commands, or their files get the text: a person has put them in front for the moment.
constexpr std::array<std::string_view, 14> pagers_and_editors = {
    "less", "more", "most", "man", "info", "vi", "vim", "nvim", "view", "nano", "emacs", "ed", "ex", "helix"};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The shell that this user logs in to, whatever its name; empty when it cannot be told.
std::string login_shell() {
  std::array<char, 4096> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, space.data(), space.size(), &found) != 0 || found == nullptr) return {};
  return found->pw_shell == nullptr ? "" : std::string(base_name(found->pw_shell));
}

/// "bash-5.2" and "zsh5" are called like this beside the one without a number.
std::string_view without_version(std::string_view name) {
  const auto end = name.find_last_not_of("0123456789.");
  if (end == std::string_view::npos || end + 1 == name.size()) return name;
  name = name.substr(0, end + 1);
  return name.ends_with('-') ? name.substr(0, name.size() - 1) : name;
}

/// Why nothing may be pasted there now; empty when it may.
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
  if (is_listed(shells) || is_listed(pagers_and_editors)) return true;
  const char* configured = std::getenv("SHELL");
  return !name.empty() && (name == without_version(login_shell()) ||
                           (configured != nullptr && name == without_version(base_name(configured))));
}

std::string paste_safe(std::string_view text) { return schema::visible(text); }

std::string TmuxSink::unavailable(const std::string& told) const {
  const auto& pane = context_.config.delivery.tmux.pane.empty() ? told : context_.config.delivery.tmux.pane;
  if (pane.empty()) return "no pane of the lead is known: set delivery.tmux.pane, or install the lead's hooks";
  return is_pane_id(pane) ? "" : "the lead's pane is said to be " + schema::printable(pane) + ", which is no tmux pane";
}

std::string TmuxSink::text_for(const std::vector<OutgoingMessage>& messages) { return paste_safe(block(messages)); }

std::string TmuxSink::pointer(std::size_t count) const {
  return (unsent_ ? "[may be a repeat] " : "") + std::to_string(count) +
         (count == 1 ? " message of your team waits. Read it with: "
                     : " messages of your team wait. Read them with: ") +
         "inbox-poller recv --even-busy --team " + context_.name;
}

asio::awaitable<Result<Front>> TmuxSink::look(std::string told) {
  if (auto why = unavailable(told); !why.empty()) co_return Error{"tmux.pane", why};
  std::string id = context_.config.delivery.tmux.pane.empty() ? told : context_.config.delivery.tmux.pane;
  auto front = co_await panes_.front(id);
  if (!front) co_return Error{"tmux.unavailable", front.error().message};
  if (!*front)
    co_return Error{"tmux.pane", "tmux has no pane " + id +
                                     ": start the lead in one, or correct delivery.tmux.pane or delivery.tmux.command"};
  const Pane& now = (*front)->pane;
  if (!bound_ || bound_->id != now.id) bound_ = now;
  if (!is_same(now, *bound_))
    co_return Error{"tmux.pane", "the pane " + now.id +
                                     " is another one than at first (its first process or its tmux server changed): "
                                     "if the lead lives there now, restart inbox-poller"};
  if (auto why = in_the_way(**front); !why.empty()) co_return Error{"tmux.refused", why};
  co_return std::move(**front);
}

asio::awaitable<Status> TmuxSink::paste(std::string told, std::string text) {
  auto seen = co_await look(std::move(told));
  if (!seen) co_return seen.error();
  const auto settle = context_.config.delivery.tmux.settle;
  // The team's name is made of what tmux's own command language takes as it is.
  std::string buffer = "inbox-poller-" + std::to_string(::getpid()) + "-" + context_.name;
  std::string safe = paste_safe(text);
  auto pasted = co_await panes_.paste(*seen, std::move(buffer), std::move(safe));
  if (!pasted && pasted.error().code == "panes.changed")
    co_return Error{"tmux.refused", pasted.error().message + ": nothing was pasted"};
  unsent_ = true;
  if (!pasted)
    co_return Error{"tmux.unknown", pasted.error().message + "; the text may stand in the terminal, not submitted"};
  co_await pause(settle);  // a long paste takes the program a while, and an Enter too early becomes a part of it
  auto entered = co_await panes_.enter(*seen);
  if (!entered)
    co_return Error{
        "tmux.enter",
        entered.error().message + ": the text stands in the terminal, not submitted; press Enter there or clear it"};
  unsent_ = false;
  co_return Done{};
}

}  // namespace inbox_poller::poller
