#include "poller/panes.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "poller/child.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

/// A server that does not answer holds up this team's poll for so long.
constexpr std::chrono::seconds patience{2};

Error unavailable(const std::string& what) { return {"panes.unavailable", what}; }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

asio::awaitable<Result<ChildResult>> ask(std::vector<std::string> command, const std::vector<std::string>& arguments) {
  ChildCommand child;
  child.argv = std::move(command);
  child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
  child.timeout = patience;
  return run_child(std::move(child));
}

/// What tmux 3.3a says when there is nobody to ask, or nothing to list.
bool says_no_panes(const ChildResult& answer) {
  const std::string said = first_line(answer.errors);
  return said.starts_with("no server running on ") || said == "no current target" ||
         (said.starts_with("error connecting to ") && said.ends_with("(No such file or directory)"));
}

struct Line {
  std::string id;
  long long server = 0;
  long long first = 0;
  bool dead = false;
};

/// "%7 4711 4712 0": pane, server, first process, dead or not.
std::optional<Line> parse(std::string_view text) {
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  const auto number = [](std::string_view word, long long& into) {
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), into);
    return failed == std::errc{} && end == word.data() + word.size() && into > 0;
  };
  Line line;
  if (!text.empty() || !is_pane_id(words[0]) || !number(words[1], line.server) || !number(words[2], line.first) ||
      (words[3] != "0" && words[3] != "1"))
    return std::nullopt;
  line.id = words[0];
  line.dead = words[3] == "1";
  return line;
}

Result<std::vector<Pane>> parse_all(std::string_view output, Processes& processes) {
  std::vector<Pane> panes;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const auto line = parse(output.substr(0, end));
    if (!line || end == output.size())
      return unavailable("tmux list-panes: expected pane, server, process and 0 or 1, found " +
                         schema::quote(output.substr(0, std::min(end, std::size_t{80}))));
    output.remove_prefix(end + 1);
    auto server = processes.identify(line->server);
    if (!server)  // it has just answered
      return unavailable("tmux says its server is process " + std::to_string(line->server) +
                         ", which is not to be seen here: it runs in another container, or ended just now");
    Pane pane{line->id, *std::move(server), {line->first, {}}, line->dead};
    if (!pane.dead) {
      auto first = processes.identify(line->first);
      pane.dead = !first.ok();
      if (first) pane.first = *std::move(first);
    }
    panes.push_back(std::move(pane));
  }
  return panes;
}

}  // namespace

bool is_same(const Pane& now, const Pane& then) {
  return now.id == then.id && now.server == then.server && now.first.pid == then.first.pid &&
         (now.dead || now.first == then.first);
}

bool is_pane_id(std::string_view text) {
  return text.size() >= 2 && text.size() <= 10 && text.front() == '%' &&
         text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

TmuxPanes::TmuxPanes(std::vector<std::string> command, Processes& processes)
    : command_(std::move(command)), processes_(processes) {}

asio::awaitable<Result<std::vector<Pane>>> TmuxPanes::list() {
  const std::vector<std::string> arguments{"list-panes", "-a", "-F", "#{pane_id} #{pid} #{pane_pid} #{pane_dead}"};
  auto answer = co_await ask(command_, arguments);
  if (!answer) co_return unavailable(answer.error().message);
  if (answer->timed_out)
    co_return unavailable(command_[0] + " did not answer within " + std::to_string(patience.count()) + " s");
  if (answer->exit_code == 1 && says_no_panes(*answer)) co_return std::vector<Pane>{};
  if (answer->exit_code != 0)
    co_return unavailable(command_[0] + " list-panes ended with exit code " + std::to_string(answer->exit_code) + ": " +
                          first_line(answer->errors));
  co_return parse_all(answer->output, processes_);
}

asio::awaitable<Result<std::optional<Pane>>> TmuxPanes::find(std::string id) {
  auto panes = co_await list();
  if (!panes) co_return panes.error();
  for (auto& pane : *panes)
    if (pane.id == id) co_return std::optional<Pane>(std::move(pane));
  co_return std::optional<Pane>();
}

asio::awaitable<Status> TmuxPanes::close(Pane pane) {
  auto now = co_await find(pane.id);
  if (!now) co_return now.error();
  if (!*now || !is_same(**now, pane)) co_return Done{};
  // Between the look and this nobody else can get the id: a server gives each only once.
  const std::vector<std::string> arguments{"kill-pane", "-t", pane.id};
  auto answer = co_await ask(command_, arguments);
  if (!answer) co_return unavailable(answer.error().message);
  if (answer->exit_code == 0 && !answer->timed_out) co_return Done{};
  now = co_await find(pane.id);
  if (now.ok() && (!*now || !is_same(**now, pane))) co_return Done{};
  co_return unavailable("tmux kill-pane -t " + pane.id + " did not close it: " + first_line(answer->errors));
}

}  // namespace inbox_poller::poller
