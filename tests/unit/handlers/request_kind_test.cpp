// The table of the kinds of requests: a line for each, and what an answer adds to the session's rules.
#include "handlers/request_kind.hpp"

#include <set>

#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::request_kind_test {

using namespace testing;

namespace {

constexpr RequestKind kinds[] = {RequestKind::permission, RequestKind::sandbox, RequestKind::plan, RequestKind::stop};

Request asked(RequestKind kind, std::string subject, std::string body) {
  Request request;
  request.kind = kind;
  request.asker = "w1";
  request.subject = std::move(subject);
  request.body = std::move(body);
  return request;
}

/// The rule that this answer makes, "kind: text"; "" for none; the code of a refusal.
std::string rule_made(const Request& request, RequestEvent event, bool always, const std::string& input = "") {
  const Team team;
  Answer answer;
  answer.updated_input = input;
  answer.event = event;
  const auto rule = traits_of(request.kind).rule;
  if (rule == nullptr) return "";
  const auto made = rule(request, answer, always, team.view());
  if (const auto* refused = std::get_if<NotTaken>(&made)) return refused->code;
  const auto& wanted = std::get<std::optional<NewRule>>(made);
  return wanted ? std::string(to_string(wanted->kind)) + ": " + wanted->text : "";
}

}  // namespace

TEST_CASE("each kind of request has one line, and is found by the types of its request and its answer") {
  std::set<std::string_view> types;
  for (const auto kind : kinds) {
    INFO(to_string(kind));
    const RequestTraits& line = traits_of(kind);
    CHECK(line.kind == kind);
    CHECK(types.insert(line.type).second);
    CHECK(types.insert(line.answer_type).second);
    CHECK(kind_asked_by(line.type) == &line);
    CHECK(kind_answered_by(line.answer_type) == (kind == RequestKind::stop ? nullptr : &line));
    CHECK(line.meaning.substr(0, 6) == " asks ");
  }
  CHECK(kind_asked_by("idle_notification") == nullptr);
  CHECK(kind_answered_by("idle_notification") == nullptr);
}

TEST_CASE("plain chat is no answer by its type, although a declined wish to stop is told in it") {
  CHECK(traits_of(RequestKind::stop).answer_type == schema::PlainText::type);
  CHECK(kind_answered_by(schema::PlainText::type) == nullptr);
}

TEST_CASE("each kind of request waits as long as its section says") {
  config::TeamConfig config;
  config.permissions.timeout = config::Duration(1);
  config.sandbox.timeout = config::Duration(2);
  config.plans.timeout = config::Duration(3);
  config.shutdown.timeout = config::Duration(4);
  long long expected = 0;
  for (const auto kind : kinds) CHECK(traits_of(kind).timeout(config).count() == ++expected);
}

TEST_CASE("an approval with always makes the rule for exactly that call, and no other answer does") {
  const auto list = asked(RequestKind::permission, "Bash", R"({"command":"ls"})");
  CHECK(rule_made(list, RequestEvent::person_approves, true) == "permission: Bash(ls)");
  CHECK(rule_made(list, RequestEvent::person_approves, true, R"({"command":"pwd"})") == "permission: Bash(pwd)");
  CHECK(rule_made(list, RequestEvent::person_approves, false).empty());
  CHECK(rule_made(list, RequestEvent::person_denies, true).empty());
  CHECK(rule_made(list, RequestEvent::deadline_passes, true).empty());
  CHECK(rule_made(list, RequestEvent::asker_leaves, true).empty());
}

TEST_CASE("where no rule covers exactly the call, always is refused") {
  const auto call = asked(RequestKind::permission, "Bash", R"x({"command":"ls $(cat list)"})x");
  CHECK(rule_made(call, RequestEvent::person_approves, true) == "rule.none_safe");
  CHECK(rule_made(call, RequestEvent::person_approves, false).empty());
}

TEST_CASE("what a person says about a host holds for the session both ways, what time says does not") {
  const auto host = asked(RequestKind::sandbox, "a.example", "a.example");
  for (const bool always : {false, true}) {
    CHECK(rule_made(host, RequestEvent::person_approves, always) == "host: a.example");
    CHECK(rule_made(host, RequestEvent::person_denies, always) == "host: a.example");
    CHECK(rule_made(host, RequestEvent::deadline_passes, always).empty());
  }
  CHECK(rule_made(asked(RequestKind::sandbox, "no host at all", "x"), RequestEvent::person_approves, true).empty());
}

TEST_CASE("no answer to a plan or to a wish to stop makes a rule") {
  for (const auto kind : {RequestKind::plan, RequestKind::stop})
    CHECK(rule_made(asked(kind, "x", "y"), RequestEvent::person_approves, true).empty());
}

}  // namespace inbox_poller::handlers::request_kind_test
