#include "poller/cli/web/gate.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::web_gate_test {

using namespace inbox_poller::poller::cli::web;

namespace {

const Gate& our_gate() {
  static const Gate gate(8474, {"Box.example.com", "lan:9000"});
  return gate;
}

Visit get(std::string_view path) { return {.method = "GET", .path = path, .host = "127.0.0.1:8474"}; }

Visit post(std::string_view path) {
  return {.method = "POST",
          .path = path,
          .host = "127.0.0.1:8474",
          .origin = "http://127.0.0.1:8474",
          .content_type = "application/json",
          .has_session = true};
}

unsigned status_of(const Visit& visit) {
  const auto refused = our_gate().refuse(visit);
  return refused ? refused->status : 200;
}

int made = 0;
std::string counted() { return "secret-" + std::to_string(++made); }

}  // namespace

TEST_CASE("only the names of this machine and those that were allowed are answered, whatever is asked for") {
  for (const char* host : {"127.0.0.1:8474", "localhost:8474", "LocalHost:8474", "[::1]:8474", "box.example.com", "LAN:9000"}) {
    auto visit = get("/");
    visit.host = host;
    CHECK(status_of(visit) == 200);
  }
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:80", "127.0.0.2:8474", "evil.test", "evil.test:8474", "localhost:84740",
                           "box.example.com.evil.test", "box.example.com:8474", "127.0.0.1:8474 ", "user@127.0.0.1:8474", "lan"}) {
    for (const char* path : {"/", "/api/events", "/metrics", "/api/session"}) {
      auto visit = get(path);
      visit.host = host;
      visit.has_session = true;
      INFO(host);
      CHECK(status_of(visit) == 421);
    }
  }
}

TEST_CASE("the host of port 80 may leave its port out") {
  const Gate gate(80, {});
  CHECK_FALSE(gate.refuse({.method = "GET", .path = "/", .host = "localhost"}));
  CHECK_FALSE(gate.refuse({.method = "GET", .path = "/", .host = "localhost:80"}));
}

TEST_CASE("what changes something is sent by our own page, or not at all") {
  CHECK(status_of(post("/api/answer")) == 200);
  for (const char* origin : {"", "null", "http://evil.test", "http://127.0.0.1", "http://127.0.0.1:8474/", "http://localhost:8474",
                             "ftp://127.0.0.1:8474", "http://127.0.0.1:8474.evil.test"}) {
    auto visit = post("/api/answer");
    visit.origin = origin;
    INFO(origin);
    CHECK(status_of(visit) == 403);
  }
  auto proxied = post("/api/answer");
  proxied.host = "Box.Example.com";
  proxied.origin = "https://box.example.com";
  CHECK(status_of(proxied) == 200);
  auto form = post("/api/answer");
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8"}) {
    form.content_type = type;
    CHECK(status_of(form) == 415);
  }
}

TEST_CASE("another site gets nothing; a link from there leads to the page and not further") {
  for (const char* site : {"cross-site", "same-site", "Same-Origin", "?"}) {
    for (auto visit : {get("/"), get("/metrics"), get("/app.js"), post("/api/answer"), post("/api/session")}) {
      visit.fetch_site = site;
      CHECK(status_of(visit) == 403);
    }
  }
  for (const char* site : {"", "none", "same-origin"}) {
    auto visit = post("/api/answer");
    visit.fetch_site = site;
    CHECK(status_of(visit) == 200);
  }
  auto link = get("/");
  link.fetch_site = "cross-site";
  link.fetch_mode = "navigate";
  link.fetch_dest = "document";
  CHECK(status_of(link) == 200);
  link.fetch_dest = "iframe";
  CHECK(status_of(link) == 403);
  link.fetch_dest = "document";
  link.path = "/api/decisions";
  link.has_session = true;
  CHECK(status_of(link) == 403);
}

TEST_CASE("requests are for sessions; the page itself, its health and its figures are not") {
  for (const char* path : {"/api/events", "/api/decisions", "/api/trace", "/api/session", "/api/"}) CHECK(status_of(get(path)) == 401);
  for (const char* path : {"/", "/app.js", "/metrics", "/healthz", "/readyz", "/nothing"}) CHECK(status_of(get(path)) == 200);
  auto visit = post("/api/answer");
  visit.has_session = false;
  CHECK(status_of(visit) == 401);
  visit.path = "/api/session";
  CHECK(status_of(visit) == 200);
  for (const char* method : {"PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT", "", "get"}) {
    visit.method = method;
    CHECK(status_of(visit) == 405);
  }
}

TEST_CASE("a token opens one session, and each session stays its own") {
  Sessions sessions(8474, counted);
  const std::string first = sessions.token();
  CHECK_FALSE(sessions.open(""));
  CHECK_FALSE(sessions.open(first + "x"));
  CHECK_FALSE(sessions.open(first.substr(1)));
  const auto one = sessions.open(first);
  REQUIRE(one);
  CHECK(one->ends_with("; HttpOnly; SameSite=Strict; Path=/"));
  CHECK(one->starts_with("inbox-poller-8474="));
  CHECK_FALSE(sessions.open(first));
  CHECK(sessions.token() != first);
  const auto two = sessions.open(sessions.token());
  REQUIRE(two);
  const std::string cookie = one->substr(0, one->find(';'));
  CHECK(cookie != two->substr(0, two->find(';')));
  CHECK(sessions.knows(cookie));
  CHECK(sessions.knows("a=b; " + cookie + "; c=d"));
  CHECK(sessions.knows("inbox-poller-8474=old; " + cookie));
  for (const std::string& wrong : {std::string(), cookie + "x", cookie.substr(0, cookie.size() - 1), "x" + cookie, std::string("inbox-poller-8474="),
                                   "inbox-poller-8475" + cookie.substr(cookie.find('=')), cookie.substr(cookie.find('=') + 1)})
    CHECK_FALSE(sessions.knows(wrong));
  for (int i = 0; i < 64; ++i) REQUIRE(sessions.open(sessions.token()));
  CHECK_FALSE(sessions.knows(cookie));  // the oldest of too many
}

TEST_CASE("secrets are compared whole, and no two that are made are the same") {
  CHECK(is_same_secret("abc", "abc"));
  CHECK_FALSE(is_same_secret("abc", "abd"));
  CHECK_FALSE(is_same_secret("abc", "ab"));
  const std::string one = new_secret();
  CHECK(one.size() == 64);
  CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one != new_secret());
}

}  // namespace inbox_poller::web_gate_test
