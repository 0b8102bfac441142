// What proves that a hook's output reached the model: cell by cell as code, as it is drawn here and as docs/reference/hooks.md
// shows it.
#include "handlers/hook_proof.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::hook_proof_test {

using namespace inbox_poller::handlers;
namespace schema = inbox_poller::schema;
using inbox_poller::schema::ClientMode;
using inbox_poller::schema::HookEvent;

namespace {

/// By which hook it was handed over, what the transcript says of it, and the next event of the session.
constexpr const char* drawn = R"(
way    transcript  prompt  tool    stop    held    failure  idle    end
prompt has         proven  proven  proven  proven  proven   proven  proven
prompt given       back    proven  proven  proven  open     back    back
prompt lacks       back    open    back    back    back     back    back
prompt silent      back    proven  proven  proven  back     back    back
tool   has         proven  proven  proven  proven  proven   proven  proven
tool   given       open    proven  proven  proven  open     open    back
tool   lacks       back    open    back    back    back     back    back
tool   silent      back    open    proven  proven  back     back    back
stop   has         proven  proven  proven  proven  proven   proven  proven
stop   given       open    proven  proven  proven  open     open    back
stop   lacks       back    open    back    back    back     back    back
stop   silent      back    proven  back    proven  back     back    back
wait   has         proven  proven  proven  proven  proven   proven  proven
wait   given       back    proven  proven  proven  open     back    back
wait   lacks       open    open    back    back    back     back    back
wait   silent      open    open    open    open    open     open    back
)";

/// Compares lines of cells, separated by spaces or by bars.
void compare(std::istream& lines, const std::string& before) {
  std::string line;
  std::set<std::string> rows;
  while (std::getline(lines, line)) {
    std::erase(line, '|');
    std::erase(line, '`');
    if (!before.empty() && line.find(before) == std::string::npos && rows.empty()) continue;
    if (line.starts_with("--")) continue;  // the rule under the head
    std::istringstream cells(line);
    std::string hook, transcript, cell;
    if (!(cells >> hook >> transcript)) break;
    if (hook == "way") {
      rows.insert(hook);
      for (const auto sign : schema::values<HookSign>) {
        REQUIRE(cells >> cell);
        CHECK(cell == to_string(sign));
      }
      continue;
    }
    CHECK(rows.insert(hook + " " + transcript).second);
    for (const auto sign : schema::values<HookSign>) {
      INFO(hook << ", transcript " << transcript << ", then " << to_string(sign));
      REQUIRE(cells >> cell);
      const auto by = schema::parse<OfferingHook>(hook);
      const auto said = schema::parse<Transcript>(transcript);
      REQUIRE((by && said));
      CHECK(to_string(judge_proof(*by, sign, *said)) == cell);
    }
  }
  CHECK(rows.size() == 1 + schema::values<OfferingHook>.size() * schema::values<Transcript>.size());
}

HookEvent event(const std::string& name) {
  HookEvent event;
  event.name = name;
  return event;
}

}  // namespace

TEST_CASE("every cell of what proves a hook's output is as drawn") {
  std::istringstream lines(drawn);
  std::string empty;
  std::getline(lines, empty);
  compare(lines, "");
}

TEST_CASE("docs/reference/hooks.md shows the same table of what proves a hook's output") {
  std::ifstream document(std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/reference/hooks.md");
  REQUIRE(document);
  compare(document, "way  transcript ");
}

TEST_CASE("nothing is proven by the end of a session, or by an event after which the transcript lacks it") {
  for (const auto hook : schema::values<OfferingHook>) {
    for (const auto sign : schema::values<HookSign>) CHECK(judge_proof(hook, sign, Transcript::lacks) != Proof::proven);
    CHECK(judge_proof(hook, HookSign::end, Transcript::given) == Proof::back);
    CHECK(judge_proof(hook, HookSign::end, Transcript::silent) == Proof::back);
  }
}

TEST_CASE("only where a person is at the client does what a hook says beside the session reach the model") {
  for (const auto hook : schema::values<OfferingHook>) {
    CHECK(reaches_model(hook, ClientMode::interactive));
    CHECK(reaches_model(hook, ClientMode::headless) == (hook != OfferingHook::wait));
    CHECK(reaches_model(hook, ClientMode::unknown) == (hook != OfferingHook::wait));
  }
}

TEST_CASE("an idle session is woken from 2.1.139 on where a person is at it, and why not is said") {
  CHECK(why_not_woken({ClientMode::interactive, "2.1.141", false}).empty());
  CHECK(why_not_woken({ClientMode::interactive, "", true}).empty());
  CHECK(why_not_woken({ClientMode::interactive, "2.1.50", false}).find("client 2.1.50") != std::string::npos);
  CHECK(why_not_woken({ClientMode::interactive, "2.1.138", false}).find("2.1.139") != std::string::npos);
  CHECK(why_not_woken({ClientMode::interactive, "", false}).find("not known") != std::string::npos);
  for (const auto mode : {ClientMode::headless, ClientMode::unknown})
    CHECK(why_not_woken({mode, "2.1.331", true}).find("no person is at the client") != std::string::npos);
}

TEST_CASE("what an event says of a hook's output") {
  CHECK(sign_of(event("UserPromptSubmit")) == HookSign::prompt);
  CHECK(sign_of(event("PreToolUse")) == HookSign::tool);
  CHECK(sign_of(event("PostToolUse")) == HookSign::tool);
  CHECK(sign_of(event("StopFailure")) == HookSign::failure);
  CHECK(sign_of(event("SessionEnd")) == HookSign::end);
  auto stop = event("Stop");
  CHECK(sign_of(stop) == HookSign::stop);
  stop.stop_hook_active = true;
  CHECK(sign_of(stop) == HookSign::held);
  stop.last_assistant_message = "The API Error is mended.";
  CHECK(sign_of(stop) == HookSign::held);
  stop.last_assistant_message = "API Error: Unable to connect to API";
  CHECK(sign_of(stop) == HookSign::failure);
  auto notification = event("Notification");
  CHECK_FALSE(sign_of(notification));
  notification.notification_type = "permission_prompt";
  CHECK_FALSE(sign_of(notification));
  notification.notification_type = "idle_prompt";
  CHECK(sign_of(notification) == HookSign::idle);
  auto begin = event("SessionStart");
  for (const auto* source : {"startup", "resume", "clear", ""}) {
    begin.source = source;
    CHECK(sign_of(begin) == HookSign::end);
  }
  begin.source = "compact";
  CHECK_FALSE(sign_of(begin));
  for (const auto* name : {"PermissionRequest", "PreCompact", "", "stop"})
    CHECK_FALSE(sign_of(event(name)));
}

}  // namespace inbox_poller::hook_proof_test
