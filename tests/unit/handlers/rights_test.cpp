// What we may do in a team, cell by cell: as code, as it is drawn here and as docs/reference/protocol.md shows it.
#include "handlers/rights.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::rights_test {
namespace {

constexpr EffectiveRole roles[] = {EffectiveRole::leader,   EffectiveRole::paused,  EffectiveRole::interceptor,
                                   EffectiveRole::observer, EffectiveRole::standby, EffectiveRole::follower};

constexpr const char* drawn = R"(
right            leader  stopped  front  observer  standby  follower
read_inbox       yes     -        yes    yes      -        -
take             yes     -        -      -        -        -
mark_answered    yes     -        yes    -        -        -
answer_by_rule   yes     -        yes    -        -        -
answer           yes     yes      yes    -        -        -
answer_by_time   yes     -        -      -        -        -
decide_wish      yes     yes      -      -        -        -
notify_lead        yes     yes      -      -        -        -
ask_person       yes     yes      yes    -        -        -
write            yes     yes      yes    -        -        -
keep_rules       yes     -        yes    -        -        -
order            yes     -        -      -        -        -
shut_down        yes     -        -      -        -        -
mend_roster      yes     -        -      -        -        -
compact          yes     -        -      -        -        -
set_torn_aside   yes     -        -      -        -        -
expect_nobody    yes     -        -      -        -        -
notice_orders    yes     yes      -      -        -        -
watch_lead       -       -        yes    yes      -        -
carry            yes     -        -      -         yes      yes
end_here         -       -        -      -         yes      yes
)";

std::string word(bool may) { return may ? "yes" : "-"; }

/// The right of this line, and whether its six cells are the table's.
std::string checked(std::istringstream& cells, const std::string& name, const std::string& bar) {
  for (int i = 0; i < right_count; ++i) {
    const auto right = static_cast<Right>(i);
    if (to_string(right) != name) continue;
    for (const auto role : roles) {
      std::string cell, skipped;
      if (!bar.empty()) REQUIRE(cells >> skipped);
      REQUIRE(cells >> cell);
      INFO(name << " as " << to_string(role));
      CHECK(word(rights_of(role, right)) == cell);
    }
    return name;
  }
  FAIL("no such right: " << name);
  return {};
}

}  // namespace

TEST_CASE("every cell of the table of rights is as drawn, and every right has a line") {
  std::istringstream table(drawn);
  std::string line, name;
  std::getline(table, line);
  std::getline(table, line);
  std::set<std::string> lines;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    cells >> name;
    CHECK(lines.insert(checked(cells, name, "")).second);
    CHECK_FALSE(cells >> name);
  }
  CHECK(lines.size() == right_count);
}

TEST_CASE("docs/reference/protocol.md shows the table of rights, every right once") {
  std::ifstream file(std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/reference/protocol.md");
  REQUIRE(file);
  std::set<std::string> shown;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.rfind("| right |", 0) == 0) inside = true;
    if (!inside || line.rfind("|---", 0) == 0 || line.rfind("| right |", 0) == 0) continue;
    if (line.rfind("| ", 0) != 0) break;
    std::istringstream cells(line);
    std::string bar, name;
    cells >> bar >> name;
    REQUIRE(name.size() > 2);
    CHECK(shown.insert(checked(cells, name.substr(1, name.size() - 2), bar)).second);
  }
  CHECK(shown.size() == right_count);
}

TEST_CASE("an observer writes nothing, whatever it is called") {
  for (const auto right : {Right::take, Right::mark_answered, Right::answer_by_rule, Right::answer,
                           Right::answer_by_time, Right::decide_wish, Right::notify_lead, Right::write, Right::order,
                           Right::shut_down, Right::mend_roster, Right::compact, Right::set_torn_aside})
    CHECK_FALSE(rights_of(EffectiveRole::observer, right));
}

TEST_CASE("each configured role has the rights of its name") {
  for (const auto role : {config::Role::leader, config::Role::interceptor, config::Role::observer})
    CHECK(to_string(effective_role(role)) == config::to_string(role));
}

}  // namespace inbox_poller::handlers::rights_test
