// `statusline`: one line for the status line of a client. A fault prints nothing, because the client shows what is
// printed after each answer of its model.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"
#include "schema/json_scan.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds connects_within{20};
constexpr milliseconds answers_within{100};
constexpr milliseconds input_within{20};  // the client writes at once
constexpr std::size_t most_input = std::size_t{64} << 10;

/// Returns the session that the client names on the standard input; empty without one.
std::string session_of(Context& context) {
  if (::isatty(context.console.in()) != 0) return "";
  const auto input = context.console.read_beginning(most_input, input_within);
  if (!input) return "";
  return schema::decode_string(schema::find_member(input->text, "session_id").value_or("")).value_or("");
}

/// Returns true if the locale's encoding is UTF-8, by the variables in the order of POSIX.
bool is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale(value);
    std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

/// Returns the team that the session leads, the only team, or all teams.
std::vector<operations::Team> teams_for(const operations::Status& status, const std::string& session) {
  const auto led = std::ranges::find_if(
      status.teams, [&](const operations::Team& team) { return !session.empty() && team.lead.session == session; });
  return led == status.teams.end() ? status.teams : std::vector{*led};
}

std::string line_of(const std::vector<operations::Team>& teams) {
  const std::string between = is_utf8() ? " · " : " | ";
  long long waiting = 0, mails = 0;
  bool is_troubled = false;
  for (const auto& team : teams) {
    const TeamLine line = team_line(team);
    waiting += line.requests;
    mails += line.chat;
    is_troubled = is_troubled || !line.trouble.empty();
  }
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : between) + part; };
  if (waiting > 0) add(std::to_string(waiting) + " wait");
  if (teams.size() == 1) add("lead " + printable(teams.front().lead.state));
  if (mails > 0) add(std::to_string(mails) + (mails == 1 ? " mail" : " mails"));
  if (is_troubled) add("trouble");
  return text;
}

Result<operations::Status> status_of(const Context& context) {
  TRY(const auto path, context.socket_path());
  TRY(auto client, ControlClient::connect(path, connects_within));
  return context.ask(client, arguments::Status(), answers_within);
}

ExitCode statusline(Context& context) {
  const std::string session = session_of(context);
  const auto status = status_of(context);
  const std::string line = status ? line_of(teams_for(*status, session)) : "";
  if (context.json) return context.print_record(operations::ShortStatus{!line.empty(), line});
  return line.empty() ? ExitCode::done : context.print(line + '\n');
}

// clang-format off
constexpr Command statusline_rows[] = {
    {.name = "statusline", .group = Group::look, .summary = "Print one line for the status line of a client",
     .help = "The line says how many requests wait for a person, whether the lead is idle, busy or offline, how many messages\n"
             "wait for the lead, and whether there is trouble, which `inbox-poller status` explains. Nothing is printed,\n"
             "and the exit code is 0, when no daemon answers at once. A client gives JSON on standard input: its\n"
             "session_id chooses the team that this session leads. Otherwise the line is about all teams. The line is\n"
             "plain ASCII unless the locale is UTF-8.",
     .examples = "inbox-poller statusline\n"
                 "echo '{\"session_id\": \"…\"}' | inbox-poller statusline   # as a client calls it",
     .work = runs<statusline>, .prints = operations::shapes<operations::ShortStatus>},
};
// clang-format on

}  // namespace

std::span<const Command> statusline_commands() { return statusline_rows; }

}  // namespace inbox_poller::poller::cli
