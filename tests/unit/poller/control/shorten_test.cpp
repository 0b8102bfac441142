// Answers that are too long for a client: the longest texts are cut, and nothing else is.
#include "poller/control/shorten.hpp"

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace inbox_poller::poller::shorten_test {
namespace json = boost::json;

namespace {

constexpr std::size_t most = 1 << 20;

json::object answer_with(const std::vector<std::string>& bodies) {
  json::array requests;
  for (const auto& body : bodies) requests.push_back(json::object{{"request_id", "perm-1"}, {"body", body}});
  return {{"ok", true}, {"requests", std::move(requests)}};
}

std::string body(const json::object& answer, std::size_t number) {
  return json::value_to<std::string>(answer.at("requests").at(number).at("body"));
}

}  // namespace

TEST_CASE("an answer that fits stays as it is") {
  auto answer = answer_with({std::string(most / 2, 'a'), "short"});
  const auto before = answer;
  shorten(answer, most);
  CHECK(answer == before);
}

TEST_CASE("one huge text is cut and says so, and its neighbors stay whole") {
  const std::string neighbor(20'000, 'n');
  auto answer = answer_with({"short", std::string(17 * most, 'a'), neighbor});
  shorten(answer, most);
  CHECK(json::serialize(answer).size() <= most);
  CHECK(body(answer, 0) == "short");
  CHECK(body(answer, 2) == neighbor);
  CHECK(body(answer, 1).starts_with("(CUT: only the first "));
  CHECK(body(answer, 1).find(" of 17825792 bytes are shown here) aaa") != std::string::npos);
  CHECK(answer.at("requests").at(1).at("request_id") == "perm-1");
}

TEST_CASE("many long texts get equal shares, however their bytes are escaped, and no character is cut") {
  for (const std::string piece : {"a", "\x01", "\"", "\xC3\xA4", "\xE2\x80\xAE"}) {
    std::string text;
    while (text.size() < most / 4) text += piece;
    auto answer = answer_with(std::vector<std::string>(40, text));
    shorten(answer, most);
    CHECK(json::serialize(answer).size() <= most);
    const auto first = body(answer, 0);
    const auto begin = first.find(") ") + 2;
    CHECK((first.size() - begin) % piece.size() == 0);
    CHECK(first.size() > 1000);
    CHECK(body(answer, 39) == first);
  }
}

}  // namespace inbox_poller::poller::shorten_test
