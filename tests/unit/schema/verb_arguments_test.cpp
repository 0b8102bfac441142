// Requests as the control socket has them (schema/operations/verb_arguments.hpp).
#include "schema/operations/verb_arguments.hpp"

#include <boost/json/array.hpp>
#include <set>

#include "tests/support/catch.hpp"

namespace inbox_poller::verb_arguments_test {

namespace json = boost::json;

TEST_CASE("a request says its verb, and nothing that is as it always is") {
  CHECK(arguments::on_wire(arguments::Status()) == json::object{{"verb", "status"}});
  CHECK(arguments::on_wire(arguments::History{.limit = 50, .full = true}) ==
        json::object{{"verb", "history"}, {"full", true}});
  CHECK(arguments::on_wire(arguments::Recv{.block = false}) == json::object{{"verb", "recv"}, {"block", false}});
}

TEST_CASE("what may be given and may be nothing is said where it was given") {
  arguments::Shutdown request;
  request.remind_after_ms = 0;  // never
  CHECK(arguments::on_wire(request) == json::object{{"verb", "shutdown"}, {"remind_after_ms", 0}});
  CHECK(arguments::on_wire(arguments::Ack{.keys = arguments::Strings()}) ==
        json::object{{"verb", "ack"}, {"keys", json::array()}});
}

TEST_CASE("a request is read as it was written, and a field of another kind counts as left out") {
  arguments::Approve said;
  said.ids = {"perm-1", "perm-2"};
  said.always = true;
  const auto heard = operations::decode<arguments::Approve>(arguments::on_wire(said));
  CHECK(heard.ids == said.ids);
  CHECK(heard.always);
  const auto odd = operations::decode<arguments::Approve>({{"ids", "perm-1"}, {"always", 1}, {"by", json::array{}}});
  CHECK(odd.ids.empty());
  CHECK_FALSE(odd.always);
  CHECK(odd.by.empty());
}

TEST_CASE("a list of what is asked for is not made shorter by what is no name") {
  const auto heard = operations::decode<arguments::Deny>({{"ids", json::array{"perm-1", 7, nullptr}}});
  CHECK(heard.ids == arguments::Strings{"perm-1", "", ""});
  CHECK(operations::decode<arguments::Changes>({{"of", json::array{7}}}).of.size() == 1);
}

TEST_CASE("each verb has one name, a sentence, and the field that it needs") {
  std::set<std::string_view> names;
  for (const auto& row : arguments::rows()) {
    INFO(row.verb);
    CHECK(names.insert(row.verb).second);
    CHECK_FALSE(row.about.empty());
    CHECK((row.needed.empty() || row.usual.contains(row.needed) || row.needed == "keys"));
  }
  CHECK(names.size() == 33);
}

}  // namespace inbox_poller::verb_arguments_test
