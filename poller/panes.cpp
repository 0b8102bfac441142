#include "poller/panes.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "schema/ids.hpp"
#include "schema/json_scan.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

/// Limit for an answer; an unresponsive server delays this team's poll that long.
constexpr std::chrono::seconds answer_within{2};

Error unavailable(const std::string& what) { return {"panes.unavailable", what}; }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// True for the messages of tmux 3.3a without a server or without panes.
bool says_no_panes(const ChildResult& answer) {
  const std::string said = first_line(answer.errors);
  return said.starts_with("no server running on ") || said == "no current target" ||
         (said.starts_with("error connecting to ") && said.ends_with("(No such file or directory)"));
}

/// The format that identifies a pane in every query.
constexpr std::string_view identity = "#{pane_id} #{pid} #{pane_pid} #{pane_dead}";

/// Format of the state that affects input. The command comes last, because its owner may put spaces and newlines in it.
constexpr std::string_view hindrances = "#{?pane_in_mode,1,0} #{?pane_input_off,1,0} #{?pane_synchronized,1,0}";
constexpr std::string_view in_front = "#{pane_current_command}";

/// Format of the screen's state, besides its rows.
constexpr std::string_view shape =
    "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{history_size} #{?alternate_on,1,0}";

/// Limit of a condition in bytes; tmux accepts 16 KiB for a command.
constexpr std::size_t longest_condition = 12'000;

std::string_view take_word(std::string_view& text) {
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

bool take_flag(std::string_view& text, bool& into) {
  const auto word = take_word(text);
  into = word == "1";
  return word == "0" || word == "1";
}

struct Line {
  std::string id;
  long long server = 0;
  long long first = 0;
  bool dead = false;
};

/// Parses "%7 4711 4712 0": pane, server, first process, dead or not. Removes it from the text.
std::optional<Line> take_line(std::string_view& text) {
  const auto number = [&text](long long& into) {
    const auto word = take_word(text);
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), into);
    return failed == std::errc{} && end == word.data() + word.size() && into > 0;
  };
  Line line;
  line.id = take_word(text);
  if (!schema::is_pane_id(line.id) || !number(line.server) || !number(line.first) || !take_flag(text, line.dead))
    return std::nullopt;
  return line;
}

Error not_understood(std::string_view call, std::string_view output) {
  return unavailable("tmux " + std::string(call) + ": expected pane, server, process and 0 or 1, found " +
                     schema::quote(output.substr(0, 80)));
}

Result<Pane> known(const Line& line, Processes& processes) {
  auto server = processes.identify(line.server);
  if (!server)  // it has just answered
    return unavailable("tmux says its server is process " + std::to_string(line.server) +
                       ", which is not to be seen here: it runs in another container, or ended just now");
  Pane pane{line.id, *std::move(server), {line.first, {}}, line.dead};
  if (!pane.dead) {
    auto first = processes.identify(line.first);
    pane.dead = !first.ok();
    if (first) pane.first = *std::move(first);
  }
  return pane;
}

Result<std::vector<Pane>> parse_all(std::string_view output, Processes& processes) {
  std::vector<Pane> panes;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const auto shown = output.substr(0, end);
    auto rest = shown;
    const auto line = take_line(rest);
    if (!line || !rest.empty() || end == output.size()) return not_understood("list-panes", shown);
    output.remove_prefix(end + 1);
    TRY(auto pane, known(*line, processes));
    panes.push_back(std::move(pane));
  }
  return panes;
}

template <class Number>
bool take_number(std::string_view& text, Number& into) {
  const auto word = take_word(text);
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), into);
  return failed == std::errc{} && end == word.data() + word.size() && into >= 0;
}

/// Parses a line with pane and shape, as many rows as the pane is high, and the foreground program.
Result<Front> parse_front(std::string_view output, Processes& processes) {
  auto rest = output;
  auto head = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(head.size() + 1, rest.size()));
  const auto line = take_line(head);
  Front front;
  bool dropped = false;
  auto& screen = front.screen;
  if (!line || !take_flag(head, front.in_mode) || !take_flag(head, dropped) || !take_flag(head, front.synchronized) ||
      !take_number(head, screen.width) || !take_number(head, front.height) ||
      !take_number(head, screen.cursor_column) || !take_number(head, screen.cursor_row) ||
      !take_number(head, front.history) || !take_flag(head, front.alternate))
    return not_understood("display-message", output);
  std::size_t end = 0;
  for (int row = 0; row < front.height; ++row) {
    end = rest.find('\n', end);
    if (end++ == std::string_view::npos) return not_understood("capture-pane", output);
  }
  screen.text = rest.substr(0, end);
  rest.remove_prefix(end);
  if (!rest.ends_with('\n')) return not_understood("display-message", output);
  front.takes_input = !dropped;
  front.command = rest.substr(0, rest.size() - 1);
  TRY(auto pane, known(*line, processes));
  front.pane = std::move(pane);
  return front;
}

/// Escapes a text for tmux formats.
std::string literal(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '#' || c == ',' || c == '}') escaped += '#';
    escaped += c;
  }
  return escaped;
}

/// True for characters that neither a regular expression nor a tmux format interprets; a pattern has "." for all
/// others.
bool is_plain(unsigned char c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ';
}

bool fits(std::string_view row, std::string_view pattern) {
  while (!row.empty() && !pattern.empty()) {
    const auto length = schema::code_point_at(row, 0).length;
    const bool any = !is_plain(static_cast<unsigned char>(pattern.front()));
    if (!any && row.substr(0, length) != pattern.substr(0, length)) return false;
    row.remove_prefix(length);
    pattern.remove_prefix(any ? 1 : length);
  }
  return row.empty() && pattern.empty();
}

/// Returns, for every row that must be unchanged, a search of the screen for it and the first row where it is found.
std::pair<std::string, std::string> rows_as_seen(const Front& seen) {
  const auto rows = schema::screen_rows(seen.screen.text);
  std::pair<std::string, std::string> condition;
  for (std::size_t i = seen.held_from; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;
    std::string pattern;
    for (const char c : rows[i]) pattern += is_plain(static_cast<unsigned char>(c)) ? c : '.';
    const auto first = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return fits(row, rows[i]); });
    condition.first += " #{C/r:^" + pattern + "$}";
    condition.second += " " + std::to_string(first - rows.begin() + 1);
  }
  return condition;
}

/// Returns a tmux format that is true while the pane lives, accepts input, and pane, program and screen are as seen.
/// Empty when the format would be too long.
std::string as_seen(const Front& seen) {
  const auto flag = [](bool set) { return set ? " 1" : " 0"; };
  const auto number = [](long long value) { return " " + std::to_string(value); };
  const auto [searches, places] = rows_as_seen(seen);
  auto condition = "#{==:" + std::string(identity) + " " + std::string(hindrances) + " " + std::string(shape) +
                   searches + " " + std::string(in_front) + "," + seen.pane.id + number(seen.pane.server.pid) +
                   number(seen.pane.first.pid) + flag(seen.pane.dead) + flag(seen.in_mode) + flag(!seen.takes_input) +
                   flag(seen.synchronized) + number(seen.screen.width) + number(seen.height) +
                   number(seen.screen.cursor_column) + number(seen.screen.cursor_row) + number(seen.history) +
                   flag(seen.alternate) + places + " " + literal(seen.command) + "}";
  return condition.size() > longest_condition ? std::string() : condition;
}

std::string_view name_of(Key key) {
  switch (key) {
    case Key::enter: return "Enter";
    case Key::erase_line: return "C-u";
    case Key::erase_back: return "BSpace";
  }
  return {};
}

Typed too_much(const Front& seen) {
  return {Typed::How::changed,
          "the pane " + seen.pane.id + " shows more than can be held against it: too large a window"};
}

constexpr std::string_view done = "inbox-poller: done\n";

Typed judge(const std::string& call, const Front& seen, const Result<ChildResult>& answered) {
  if (!answered) return {Typed::How::unknown, answered.error().message};
  const auto& answer = *answered;
  if (answer.exit_code == 0 && answer.output == done) return {};
  const Typed changed{Typed::How::changed, "the pane " + seen.pane.id + " changed just before " + call};
  if (answer.exit_code == 0 && answer.output.empty()) return changed;
  if (says_no_panes(answer)) return changed;
  return {Typed::How::unknown, "tmux " + call + " into " + seen.pane.id + " ended with exit code " +
                                   std::to_string(answer.exit_code) + ": " + first_line(answer.errors)};
}

}  // namespace

bool is_same(const Pane& now, const Pane& then) {
  return now.id == then.id && now.server == then.server && now.first.pid == then.first.pid &&
         (now.dead || now.first == then.first);
}

TmuxPanes::TmuxPanes(std::vector<std::string> command, Processes& processes)
    : command_(std::move(command)), processes_(processes) {}

asio::awaitable<Result<ChildResult>> TmuxPanes::run(std::vector<std::string> arguments, std::string input) {
  ChildCommand child;
  child.argv = command_;
  child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
  child.input = std::move(input);
  child.timeout = answer_within;
  auto answer = co_await run_child(std::move(child));
  if (!answer) co_return unavailable(answer.error().message);
  if (answer->timed_out)
    co_return unavailable(command_[0] + " did not answer within " + std::to_string(answer_within.count()) + " s");
  co_return std::move(*answer);
}

asio::awaitable<Result<std::vector<Pane>>> TmuxPanes::list() {
  std::vector<std::string> arguments{"list-panes", "-a", "-F", std::string(identity)};
  CO_TRY(auto answer, co_await run(std::move(arguments)));
  if (answer.exit_code == 1 && says_no_panes(answer)) co_return std::vector<Pane>{};
  if (answer.exit_code != 0)
    co_return unavailable(command_[0] + " list-panes ended with exit code " + std::to_string(answer.exit_code) + ": " +
                          first_line(answer.errors));
  co_return parse_all(answer.output, processes_);
}

asio::awaitable<Result<std::optional<Pane>>> TmuxPanes::find(std::string id) {
  CO_TRY(auto panes, co_await list());
  for (auto& pane : panes)
    if (pane.id == id) co_return std::optional<Pane>(std::move(pane));
  co_return std::optional<Pane>();
}

asio::awaitable<Status> TmuxPanes::close(Pane pane) {
  auto now = co_await find(pane.id);
  if (!now) co_return now.error();
  if (!*now || !is_same(**now, pane)) co_return Done{};
  // The id cannot belong to another pane meanwhile: a server uses each id only once.
  std::vector<std::string> arguments{"kill-pane", "-t", pane.id};
  auto answer = co_await run(std::move(arguments));
  if (answer.ok() && answer->exit_code == 0) co_return Done{};
  now = co_await find(pane.id);
  if (now.ok() && (!*now || !is_same(**now, pane))) co_return Done{};
  co_return unavailable("tmux kill-pane -t " + pane.id +
                        " did not close it: " + (answer ? first_line(answer->errors) : answer.error().message));
}

asio::awaitable<Result<std::optional<Front>>> TmuxPanes::front(std::string id) {
  // All in one step. The height precedes the rows, and the name, which may have newlines, comes last.
  std::vector<std::string> arguments{"display-message",
                                     "-p",
                                     "-t",
                                     id,
                                     std::string(identity) + " " + std::string(hindrances) + " " + std::string(shape),
                                     ";",
                                     "capture-pane",
                                     "-p",
                                     "-e",
                                     "-N",
                                     "-t",
                                     id,
                                     ";",
                                     "display-message",
                                     "-p",
                                     "-t",
                                     id,
                                     std::string(in_front)};
  CO_TRY(auto answer, co_await run(std::move(arguments)));
  const bool unknown = first_line(answer.errors).starts_with("can't find pane: ");
  // tmux 3.3a answers with empty values for an unknown pane.
  if (says_no_panes(answer) || unknown || answer.output.starts_with(' ')) co_return std::optional<Front>();
  if (answer.exit_code != 0)
    co_return unavailable(command_[0] + " display-message ended with exit code " + std::to_string(answer.exit_code) +
                          ": " + first_line(answer.errors));
  CO_TRY(auto front, parse_front(answer.output, processes_));
  co_return std::optional<Front>(std::move(front));
}

std::string TmuxPanes::has_ended(const Pane& seen) {
  if (processes_.is_alive(seen.server) && processes_.is_alive(seen.first)) return {};
  return "what ran in the pane " + seen.id + " has ended";
}

asio::awaitable<Typed> TmuxPanes::paste(Front seen, std::string buffer, std::string text) {
  Typed ended{Typed::How::changed, has_ended(seen.pane)};
  if (!ended.why.empty()) co_return ended;
  const auto condition = as_seen(seen);
  if (condition.empty()) co_return too_much(seen);
  // -p: brackets if the program wants them. -r: keeps newlines, which tmux would turn into carriage returns; without
  // brackets each would submit a line. -d: deletes the buffer.
  // The text goes through standard input, because an argument holds at most 16 KiB. A failed command stops those
  // after it, so `done` proves the paste. tmux 3.3a does not check the text: an end bracket in it would take effect.
  const auto& id = seen.pane.id;
  const std::string forget = "delete-buffer -b " + buffer;
  std::vector<std::string> arguments{
      "load-buffer",
      "-b",
      buffer,
      "-",
      ";",
      "if-shell",
      "-F",
      "-t",
      id,
      condition,
      "paste-buffer -p -r -d -b " + buffer + " -t " + id + " ; display-message -p 'inbox-poller: done'",
      forget};
  auto answer = co_await run(std::move(arguments), std::move(text));
  auto pasted = judge("the paste", seen, answer);
  if (pasted.how != Typed::How::unknown) co_return pasted;
  std::vector<std::string> again{"delete-buffer", "-b", buffer};
  static_cast<void>(co_await run(std::move(again)));  // the buffer or tmux may be gone already
  co_return pasted;
}

asio::awaitable<Typed> TmuxPanes::press(Front seen, Key key) {
  Typed ended{Typed::How::changed, has_ended(seen.pane)};
  if (!ended.why.empty()) co_return ended;
  const auto condition = as_seen(seen);
  if (condition.empty()) co_return too_much(seen);
  const std::string name(name_of(key));
  std::vector<std::string> arguments{
      "if-shell", "-F",
      "-t",       seen.pane.id,
      condition,  "send-keys -t " + seen.pane.id + " " + name + " ; display-message -p 'inbox-poller: done'"};
  auto answer = co_await run(std::move(arguments));
  co_return judge(name, seen, answer);
}

}  // namespace inbox_poller::poller
