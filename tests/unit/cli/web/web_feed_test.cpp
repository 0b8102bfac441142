#include "poller/cli/web/feed.hpp"
#include "schema/operations/shape.hpp"

#include <boost/json.hpp>

#include "poller/cli/web/http.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::web_feed_test {

namespace json = boost::json;
using namespace inbox_poller::poller::cli::web;

TEST_CASE("texts in a row are made visible, at every depth; numbers stay") {
  const json::value given = json::parse(R"({"a\u202eb":"x\u200by\nz\t","list":["\u001b[2J",{"n":7,"yes":true,"none":null}]})");
  CHECK(json::serialize(shown(given)) ==
        R"({"a<U+202E>b":"x<U+200B>y\nz\t","list":["\\x1b[2J",{"n":7,"yes":true,"none":null}]})");
}

TEST_CASE("a request's row has all that its approver must see, and is named by its key") {
  const json::object row = request_row(operations::decode<operations::OpenRequest>(json::parse(R"({"team":"demo","kind":"permission","request_id":"p-1\u202e","member":"ada",
    "subject":"Bash: make","tool":"Bash","body":"{\"command\":\"make\\nrm -r \\u202ex\"}","folder":"/work","reason":"no rule",
    "message_key":"0f3a","asked_ms":5,"deadline_ms":9,"answers":"verified","answers_reason":"its lead verifies",
    "parts":[{"part":"make","rule":"","missing":"no rule"}]})").get_object()));
  CHECK(row.at("key") == "0f3a");
  CHECK(row.at("request_id") == "p-1<U+202E>");
  const std::string content(row.at("content").get_string());
  CHECK(content.find("| make") != std::string::npos);
  CHECK(content.find("rm -r <U+202E>x") != std::string::npos);
  CHECK(content.find("/work") != std::string::npos);
  CHECK(row.at("why") == "no rule");
  CHECK(row.at("cannot") == "its lead verifies");
  CHECK(row.at("parts").get_array().at(0).get_object().at("missing") == "no rule");
}

TEST_CASE("a value of a query is found by its whole name, and its escapes are resolved") {
  CHECK(from_query("id=a&team=b", "team") == "b");
  CHECK(from_query("id=a&team=b", "id") == "a");
  CHECK(from_query("xid=a", "id").empty());
  CHECK(from_query("id", "id").empty());
  CHECK(from_query("", "id").empty());
  CHECK(from_query("id=a%2Fb%20c%", "id") == "a/b c%");
  CHECK(from_query("id=%zz%4", "id") == "%zz%4");
}

}  // namespace inbox_poller::web_feed_test
