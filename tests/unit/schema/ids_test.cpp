#include "schema/ids.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::ids_test {

using namespace inbox_poller::schema;

TEST_CASE("a pane id is a percent sign and digits, and nothing else") {
  for (const auto* good : {"%0", "%7", "%123456789"}) CHECK(is_pane_id(good));
  for (const auto* bad : {"", "%", "7", "%7 ", "%-1", "%0;kill-server", "%1\n", "team:1.2", "in-process", "leader",
                          "%1234567890", "w0t0p0:0F"})
    CHECK_FALSE(is_pane_id(bad));
}

TEST_CASE("content_hash is SHA-256: the published vectors of FIPS 180-4") {
  CHECK(content_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(content_hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(content_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(content_hash(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE(
    "SHA-256 pads rightly around every block border: the hash of the hashes of 0 to 199 times x, by another program") {
  std::string hashes;
  for (std::size_t length = 0; length < 200; ++length) hashes += content_hash(std::string(length, 'x'));
  CHECK(content_hash(hashes) == "f61ffcc417e1f0e59eba2da7fa32fbe05b64e478b68c6bacf990455f00248b98");
}

TEST_CASE("a valid name can be a file name and nothing else") {
  for (const char* name : {"team-lead", "worker-1", "A", "_", "9lives", "a_b"}) CHECK(is_valid_name(name));
  CHECK(is_valid_name(std::string(64, 'a')));
  CHECK_FALSE(is_valid_name(std::string(65, 'a')));
  for (const char* name : {"", "-rf", ".", "..", "../x", "a/b", "a.b", "a b", "a@team", "ä", "a\n", "a\xE2\x80\xAE"}) {
    CHECK_FALSE(is_valid_name(name));
  }
  CHECK_FALSE(is_valid_name(std::string_view("a\0b", 3)));
}

TEST_CASE("the bare name is what stands before the first @") {
  CHECK(bare_name("worker-1") == "worker-1");
  CHECK(bare_name("worker-1@team") == "worker-1");
  CHECK(bare_name("a@b@c") == "a");
  CHECK(bare_name("@team").empty());
  CHECK(bare_name("").empty());
}

TEST_CASE("old clients find a team again whose name is lower-case letters, digits and dashes only") {
  for (const char* team : {"house", "session-12ab34cd", "7"}) CHECK(is_found_by_old_clients(team));
  for (const char* team : {"Rig_Upper", "House", "my_team", "my.team", "", "h\xC3\xA4user"})
    CHECK_FALSE(is_found_by_old_clients(team));
}

TEST_CASE("request ids of every client are valid, ids that could break a log or a path are not") {
  for (const char* id : {"perm-1770504247092-piasa4m", "plan_approval-1770979387887@planner-01@plan-verify",
                         "shutdown-1770504317407@tester", "unspecified", "a1b2c3d4", "a+b=c:d.e"}) {
    CHECK(is_valid_request_id(id));
  }
  CHECK(is_valid_request_id("plan_approval-17@two words@demo"));
  CHECK(is_valid_request_id("plan_approval-17@Zo\u00eb@demo"));
  CHECK(is_valid_request_id(std::string(256, 'a')));
  CHECK_FALSE(is_valid_request_id(std::string(257, 'a')));
  for (const char* id : {"", "a/b", "a b", "@a", "x@a\nb", "x@a\u202eb", "a\nb", "\xF0\x9F\x98\x80", "a\"b", "a\\b", "a;b", "a%b"}) {
    CHECK_FALSE(is_valid_request_id(id));
  }
}

TEST_CASE("a message key is 32 hexadecimal digits, and the occurrence behind a dash") {
  const KeyScope scope{"team", "team-lead"};
  const MessageKey first = make_message_key(scope, "a", "t", "x", 0);
  CHECK(first.value.size() == 32);
  CHECK(first.value.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(make_message_key(scope, "a", "t", "x", 0) == first);
  CHECK(make_message_key(scope, "a", "t", "x", 12).value == first.value + "-12");
  CHECK(occurrence_of(first) == 0);
  CHECK(occurrence_of(make_message_key(scope, "a", "t", "x", 12)) == 12);
  CHECK(with_occurrence(make_message_key(scope, "a", "t", "x", 12), 0) == first);
}

TEST_CASE("no part of a message's identity can be moved into another part") {
  const MessageKey key = make_message_key({"team", "inbox"}, "from", "time", "text", 0);
  CHECK(make_message_key({"teami", "nbox"}, "from", "time", "text", 0) != key);
  CHECK(make_message_key({"team", "inboxf"}, "rom", "time", "text", 0) != key);
  CHECK(make_message_key({"team", "inbox"}, "fromt", "ime", "text", 0) != key);
  CHECK(make_message_key({"team", "inbox"}, "from", "timet", "ext", 0) != key);
  CHECK(make_message_key({"team", "inbox"}, "from", "time", std::string("text\0", 5), 0) != key);
  CHECK(make_message_key({"other", "inbox"}, "from", "time", "text", 0) != key);
  CHECK(make_message_key({"team", "other"}, "from", "time", "text", 0) != key);
}

TEST_CASE("a well-formed entry cannot be written so that it has the key of a bad one") {
  const KeyScope scope{"team", "inbox"};
  CHECK(make_bad_entry_key(scope, "null", 0) != make_message_key(scope, "", "", "null", 0));
  CHECK(make_bad_entry_key(scope, "null", 2).value == make_bad_entry_key(scope, "null", 0).value + "-2");
}

TEST_CASE("uuid_from gives a version 8 UUID, the same for the same seed") {
  for (const char* seed : {"", "a", "b", "reply-1", "reply-2"}) {
    const std::string uuid = uuid_from(seed);
    REQUIRE(uuid.size() == 36);
    for (const std::size_t dash : {8u, 13u, 18u, 23u}) CHECK(uuid[dash] == '-');
    CHECK(uuid[14] == '8');
    CHECK(std::string("89ab").find(uuid[19]) != std::string::npos);
    CHECK(uuid == uuid_from(seed));
  }
  CHECK(uuid_from("a") != uuid_from("b"));
  CHECK(uuid_from("abc") == "ba7816bf-8f01-8fea-8141-40de5dae2223");
}

TEST_CASE("iso_timestamp writes what toISOString() writes") {
  CHECK(iso_timestamp(0) == "1970-01-01T00:00:00.000Z");
  CHECK(iso_timestamp(1770477646348) == "2026-02-07T15:20:46.348Z");
  CHECK(iso_timestamp(951782400000) == "2000-02-29T00:00:00.000Z");
  CHECK(iso_timestamp(-1) == "1969-12-31T23:59:59.999Z");
  CHECK(iso_timestamp(253402300799999) == "9999-12-31T23:59:59.999Z");
}

TEST_CASE("iso_timestamp stays 24 characters whatever the clock says") {
  CHECK(iso_timestamp(std::numeric_limits<long long>::max()) == "9999-12-31T23:59:59.999Z");
  CHECK(iso_timestamp(std::numeric_limits<long long>::min()) == "0000-01-01T00:00:00.000Z");
}

}  // namespace inbox_poller::ids_test
