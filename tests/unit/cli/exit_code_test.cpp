// What a command leaves with depends on the mistake: the table of docs/reference/exit-codes.md.
#include "poller/cli/exit_code.hpp"

#include "poller/control/client.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::exit_code_test {

using namespace inbox_poller::poller;
using cli::ExitCode;

namespace {

int code_of(std::string_view error) { return static_cast<int>(cli::exit_code_of(Error{std::string(error), "words"})); }

}  // namespace

TEST_CASE("the same mistake leaves with the same code, whoever notices it") {
  CHECK(code_of("request.invalid") == 2);  // the daemon
  CHECK(code_of("command.usage") == 2);    // a command
  CHECK(code_of("config.invalid") == 2);
  CHECK(code_of("config.refused") == 2);        // the same configuration, refused by `reload`
  CHECK(code_of("permission.bad_input") == 2);  // approve --input
  CHECK(code_of("answer.unconfirmed") == 2);
  CHECK(code_of("rule.never_allows") == 2);
  CHECK(code_of(code::no_daemon) == 3);
  CHECK(code_of(code::broken) == 3);  // it ended before its answer
  for (const auto* unknown : {"team.unknown", "team.absent", "member.unknown", "request.unknown", "task.unknown", "rule.unknown",
                              "inbox.missing", "inbox.no_such_key"})
    CHECK(code_of(unknown) == 4);
  CHECK(code_of(code::timeout) == 5);
  CHECK(code_of("wait.over") == 5);
  CHECK(code_of("request.already_decided") == 1);
  CHECK(code_of("ledger.gone") == 1);
  CHECK(code_of("nobody.knows_this") == 1);
}

}  // namespace inbox_poller::exit_code_test
