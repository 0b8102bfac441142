#include "poller/cli/exit_code.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "poller/control/client.hpp"

namespace inbox_poller::poller::cli {
namespace {

struct Rule {
  std::string_view code;
  ExitCode exit;
};

constexpr Rule rules[] = {
    {"mailbox.usage", ExitCode::usage},         {"config.invalid", ExitCode::usage},
    {"config.refused", ExitCode::usage},        {code::bad_path, ExitCode::usage},
    {"redis.address", ExitCode::usage},         {"command.usage", ExitCode::usage},
    {"json.syntax", ExitCode::usage},           {"name.invalid", ExitCode::usage},
    {"answer.unconfirmed", ExitCode::usage},    {"permission.bad_input", ExitCode::usage},
    {"request.invalid", ExitCode::usage},       {"rule.syntax", ExitCode::usage},
    {"rule.never_allows", ExitCode::usage},     {"rule.no_paths", ExitCode::usage},
    {"rule.has_path", ExitCode::usage},         {"rule.directory", ExitCode::usage},
    {"team.ambiguous", ExitCode::usage},        {"message.none", ExitCode::not_found},
    {code::no_daemon, ExitCode::no_daemon},     {"inbox.missing", ExitCode::not_found},
    {"inbox.no_such_key", ExitCode::not_found}, {"member.unknown", ExitCode::not_found},
    {"request.unknown", ExitCode::not_found},   {"rule.unknown", ExitCode::not_found},
    {"task.unknown", ExitCode::not_found},      {"team.absent", ExitCode::not_found},
    {"team.unknown", ExitCode::not_found},      {code::timeout, ExitCode::not_in_time},
    {"wait.over", ExitCode::not_in_time},       {code::broken, ExitCode::no_daemon},
    {"message.control", ExitCode::usage},       {"inbox.control_text", ExitCode::usage},
};

}  // namespace

ExitCode exit_code_of(const Error& error) {
  const auto* rule = std::find_if(std::begin(rules), std::end(rules), [&](const Rule& one) { return one.code == error.code; });
  return rule == std::end(rules) ? ExitCode::failed : rule->exit;
}

}  // namespace inbox_poller::poller::cli
