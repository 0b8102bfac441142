// One client's conversation with the MCP server: what is answered, and what becomes of a message that was handed out.
#include "poller/cli/mcp/server.hpp"

#include <boost/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/memory_operations.hpp"

namespace inbox_poller::mcp_server_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
using namespace inbox_poller::poller::cli::mcp;
namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

struct Client : Wire {
  std::vector<std::string> lines;
  std::uint64_t written = 0;
  bool reads = true;
  std::uint64_t read = 0;
  void write(std::string line) override {
    written += line.size();
    if (reads) read = written;
    lines.push_back(std::move(line));
  }
  std::uint64_t read_by_client() override { return read; }
  bool full = false;
  [[nodiscard]] bool is_full() const override { return full; }
};

struct Talk {
  boost::asio::io_context loop;
  MemoryOperations box{loop};
  MemoryTasks store;
  ActorTasks tasks{store, "alice"};
  ActorBackend backend{box, &tasks, "/scratch"};
  Client client;
  Server server;
  explicit Talk(Server::Settings settings = {}) : server(loop, backend, client, std::move(settings)) {}
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  ~Talk() {
    server.leave(false);
    run();
  }

  void run() {
    loop.restart();
    loop.run_for(milliseconds(15));  // clock: the next steps; for what has to come see comes()
  }
  /// Whether it comes true; the loop runs meanwhile.
  template <class Condition>
  bool comes(Condition condition) {
    return inbox_poller::test::holds_after(condition, [this] { run(); });
  }
  /// Says it, and gives the one line that comes back.
  json::object ask(const std::string& line) {
    client.lines.clear();
    server.hear(line);
    REQUIRE(comes([this] { return !client.lines.empty(); }));
    REQUIRE(client.lines.size() == 1);
    return json::parse(client.lines.front()).as_object();
  }
  json::object call(const std::string& name, json::object arguments, json::value id = 1) {
    return ask(json::serialize(json::object{{"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"},
                                            {"params", json::object{{"name", name}, {"arguments", std::move(arguments)}}}}));
  }
  void say(const std::string& line) {
    server.hear(line);
    run();
  }
};

std::string recv(int id, const std::string& more = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":"recv","arguments":{"timeout_s":60})" + more + "}}";
}
const std::string ping = R"({"jsonrpc":"2.0","id":99,"method":"ping"})";
std::string canceled(const std::string& id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + "}}";
}
long long code_of(const json::object& answer) { return answer.at("error").at("code").as_int64(); }
json::object mail(const std::string& id) { return {{"id", id}, {"from", "bob"}, {"type", "note"}, {"payload", 1}}; }
std::string sentence(const json::object& answer) {
  const auto& result = answer.at("result").as_object();
  CHECK(result.at("isError") == true);
  CHECK_FALSE(result.contains("structuredContent"));
  return std::string(result.at("content").as_array().at(0).at("text").as_string());
}
/// What an answer gives; its text is the same JSON, and a note is one more text.
const json::object& content(const json::object& answer) {
  const auto& result = answer.at("result").as_object();
  CHECK(result.at("isError") == false);
  const auto& texts = result.at("content").as_array();
  CHECK(json::parse(texts.at(0).at("text").as_string()) == result.at("structuredContent"));
  const auto& structured = result.at("structuredContent").as_object();
  CHECK(texts.size() == (structured.contains("note") ? 2 : 1));
  if (texts.size() == 2) CHECK(texts[1] == json::object{{"type", "text"}, {"text", structured.at("note")}});
  return structured;
}
std::string modern(const std::string& method, const std::string& version = "2026-07-28", const std::string& more = "") {
  return R"({"jsonrpc":"2.0","id":7,"method":")" + method +
         R"(","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":")" + version +
         R"(","io.modelcontextprotocol/clientCapabilities":{}})" + more + "}}";
}

}  // namespace

TEST_CASE("what is no request is answered with an error, and the next line is heard") {
  struct Line {
    std::string text;
    int code;
    std::string id = "null";
  };
  const std::vector<Line> lines{
      {"hello", -32700},
      {"{", -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping"} x)", -32700},
      {"\xff\xfe", -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"pi)", -32700},
      {"{'jsonrpc':'2.0'}", -32700},
      {"NaN", -32700},
      {"[]", -32600},
      {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", -32600},
      {"7", -32600},
      {"null", -32600},
      {"{}", -32600},
      {R"({"id":1,"method":"ping"})", -32600, "1"},
      {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", -32600, "1"},
      {R"({"jsonrpc":2.0,"id":"a","method":"ping"})", -32600, "\"a\""},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":[1],"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":true,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":")" + std::string(257, 'i') + R"(","method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":1,"method":7})", -32600, "1"},
      {R"({"jsonrpc":"2.0","id":1})", -32600, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":7})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})", -32601, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":[]}})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":)" + std::string(200, '[') + std::string(200, ']') + "}", -32600},
  };
  Talk talk;
  for (const Line& line : lines) {
    CAPTURE(line.text.substr(0, 100));
    const auto answer = talk.ask(line.text);
    CHECK(code_of(answer) == line.code);
    CHECK(answer.at("id") == json::parse(line.id));
    CHECK(talk.ask(ping).at("result") == json::object());
  }
  talk.client.lines.clear();
  talk.server.hear_too_long();
  REQUIRE(talk.client.lines.size() == 1);
  CHECK(code_of(json::parse(talk.client.lines[0]).as_object()) == -32600);
}

TEST_CASE("notifications, answers and empty lines are never answered, whatever is wrong with them") {
  Talk talk;
  for (const char* line : {"", " \t\r", R"({"jsonrpc":"2.0","method":"nonsense"})", R"({"jsonrpc":"2.0","id":1,"result":{}})",
                           R"({"jsonrpc":"2.0","id":1,"error":{}})", R"({"jsonrpc":"2.0","method":"x","params":[]})",
                           R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
                           R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}})",
                           R"({"jsonrpc":"2.0","method":"notifications/initialized"})"})
    talk.say(line);
  CHECK(talk.client.lines.empty());
}

TEST_CASE("a known revision is taken, an unknown one is answered with the latest that begins so") {
  Talk talk;
  const auto said = [&](const std::string& version) {
    const auto answer = talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":)" + version + "}}");
    CHECK(answer.at("result").at("capabilities") == json::parse(R"({"tools":{}})"));
    CHECK(answer.at("result").at("serverInfo").at("name") == "inbox-poller");
    CHECK_FALSE(answer.at("result").as_object().contains("resultType"));
    return std::string(answer.at("result").at("protocolVersion").as_string());
  };
  CHECK(said("\"2025-06-18\"") == "2025-06-18");
  CHECK(said("\"2025-11-25\"") == "2025-11-25");
  CHECK(said("\"2026-07-28\"") == "2025-11-25");
  CHECK(said("\"2024-11-05\"") == "2025-11-25");
  CHECK(said("17") == "2025-11-25");
}

TEST_CASE("the stateless revision is spoken from the same process, request by request") {
  Talk talk;
  const auto found = talk.ask(modern("server/discover")).at("result").as_object();
  CHECK(found.at("supportedVersions") == json::array{"2026-07-28"});
  CHECK(found.at("resultType") == "complete");
  CHECK(found.at("ttlMs").is_int64());
  CHECK(found.at("cacheScope") == "private");
  CHECK(found.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name") == "inbox-poller");
  const auto listed = talk.ask(modern("tools/list")).at("result").as_object();
  CHECK(listed.contains("ttlMs"));
  CHECK(listed.at("resultType") == "complete");
  const auto called = talk.ask(modern("tools/call", "2026-07-28", R"(,"name":"inbox")"));
  CHECK(called.at("result").at("resultType") == "complete");
  CHECK(content(called).at("unread") == 0);
  CHECK(code_of(talk.ask(modern("ping"))) == -32601);
  CHECK(code_of(talk.ask(modern("initialize"))) == -32601);
  const auto refused = talk.ask(modern("tools/list", "2099-01-01"));
  CHECK(code_of(refused) == -32022);
  CHECK(refused.at("error").at("data") == json::parse(R"({"supported":["2026-07-28"],"requested":"2099-01-01"})"));
  CHECK(code_of(talk.ask(R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})")) == -32602);
  CHECK_FALSE(talk.ask(R"({"jsonrpc":"2.0","id":7,"method":"tools/list"})").at("result").as_object().contains("resultType"));
}

TEST_CASE("the tools are shown in one order, each with schemas of an object") {
  Talk talk;
  const std::string line = R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}})";
  const auto list = talk.ask(line).at("result").at("tools").as_array();
  CHECK(talk.ask(line).at("result").at("tools") == list);
  std::vector<std::string> names;
  for (const auto& tool : list) {
    names.emplace_back(tool.at("name").as_string());
    for (const char* schema : {"inputSchema", "outputSchema"}) CHECK(tool.at(schema).at("type") == "object");
    CHECK(tool.at("inputSchema").at("additionalProperties") == false);
    CHECK(tool.at("annotations").at("openWorldHint") == false);
    CHECK(tool.at("description").as_string().size() < 2048);
  }
  CHECK(names == std::vector<std::string>{"send", "recv", "try_recv", "post", "claim", "complete", "heartbeat", "abandon",
                                          "sweep", "inbox"});
  CHECK(list[9].at("annotations").at("readOnlyHint") == true);
  CHECK(list[0].at("annotations").at("readOnlyHint") == false);
}

TEST_CASE("arguments that do not fit are refused in a sentence that says what to give") {
  Talk talk;
  CHECK(sentence(talk.call("send", {{"to", "bob"}, {"type", "note"}})) == "send needs \"payload\": What it says: any JSON");
  CHECK(sentence(talk.call("send", {{"to", ""}, {"type", "note"}, {"payload", 1}})).find("\"to\" must be a text that is not empty") !=
        std::string::npos);
  CHECK(sentence(talk.call("recv", {{"timeout_s", "120"}})).find("\"timeout_s\" must be a number of seconds from 0 to 86400") !=
        std::string::npos);
  CHECK(sentence(talk.call("recv", {{"timeout_s", -1}})).find("timeout_s") != std::string::npos);
  CHECK(sentence(talk.call("recv", {{"timeout_s", 1e300}})).find("timeout_s") != std::string::npos);
  CHECK(sentence(talk.call("claim", {{"lease_ttl", 0}})).find("from 0.001 to 2592000") != std::string::npos);
  CHECK(sentence(talk.call("recv", {{"timeuot_s", 1}})) == "recv does not take the argument \"timeuot_s\"; did you mean \"timeout_s\"?");
  CHECK(sentence(talk.call("sweep", {{"actor", "bob"}})) == "sweep does not take the argument \"actor\"; it takes none");
  CHECK(sentence(talk.call("send", {{"to", "nobody"}, {"type", "note"}, {"payload", 1}})) ==
        "there is no actor called \"nobody\" here");
  CHECK(sentence(talk.call("complete", {{"task_id", "x"}, {"result", nullptr}})).starts_with("there is no task \"x\"; "));
}

TEST_CASE("each tool gives what its table says, nothing as null") {
  Talk talk;
  CHECK(content(talk.call("send", {{"to", "bob"}, {"type", "note"}, {"payload", nullptr}})).at("message").at("to") == "bob");
  CHECK_FALSE(content(talk.call("send", {{"to", "bob"}, {"type", "note"}, {"payload", 1}})).contains("new_mailbox"));
  const auto to_nobody = talk.call("send", {{"to", "new"}, {"type", "note"}, {"payload", 1}});
  CHECK(content(to_nobody).at("new_mailbox") == true);
  CHECK(content(to_nobody).at("note") == "\"new\" had no mailbox yet");
  CHECK(content(talk.call("try_recv", {})) == json::object{{"message", nullptr}});
  CHECK(content(talk.call("recv", {{"timeout_s", 0}})) == json::object{{"message", nullptr}});
  CHECK(content(talk.call("post", {{"payload", json::object()}})).at("task").at("type") == "task");
  CHECK(content(talk.call("claim", {{"lease_ttl", 1}})) == json::object{{"task", nullptr}});
  CHECK(content(talk.call("claim", {})).at("task").at("id") == "task-1");
  CHECK(content(talk.call("complete", {{"task_id", "task-1"}, {"result", "r"}})).at("task").at("result") == "r");
  CHECK(content(talk.call("heartbeat", {{"task_id", "task-1"}})).at("task").at("id") == "task-1");
  CHECK(content(talk.call("abandon", {{"task_id", "task-1"}, {"reason", "r"}})).at("task").at("id") == "task-1");
  CHECK(content(talk.call("sweep", {})).at("tasks").as_array().size() == 1);
  CHECK(content(talk.call("inbox", {})).at("actor") == "alice");
}

TEST_CASE("a call that waits holds nothing up") {
  Talk talk;
  talk.say(recv(1));
  talk.say(recv(2));
  CHECK(talk.client.lines.empty());
  CHECK(talk.ask(ping).at("id") == 99);
  CHECK(talk.call("inbox", {}, 3).at("id") == 3);
  talk.box.arrive(mail("m-1"));
  talk.client.lines.clear();
  REQUIRE(talk.comes([&] { return !talk.client.lines.empty(); }));
  talk.run();
  REQUIRE(talk.client.lines.size() == 1);
  CHECK(json::parse(talk.client.lines[0]).at("id").as_int64() <= 2);  // one of both
}

TEST_CASE("what others wrote into an envelope never breaks what our schemas promise") {
  Talk talk;
  talk.box.arrive({{"id", 7}, {"type", json::array()}, {"from", nullptr}, {"attempts", "many"}});
  const auto answer = talk.call("recv", {}, 1);
  const auto& message = content(answer).at("message").as_object();
  CHECK(message.at("id") == "7");
  CHECK_FALSE(message.contains("attempts"));
  CHECK(message.at("type") == json::array());
}

TEST_CASE("a message that was handed out is taken when its client asks for something else") {
  Talk talk;
  talk.box.arrive(mail("m-1"));
  CHECK(content(talk.call("recv", {}, 1)).at("message").at("id") == "m-1");
  CHECK(talk.box.acknowledged.empty());
  talk.say(R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})");  // not a request
  talk.say("nonsense");
  CHECK(talk.box.acknowledged.empty());
  talk.ask(ping);
  CHECK(talk.box.acknowledged == std::vector<std::string>{"ticket-1"});
  CHECK_FALSE(talk.server.holds());
}

TEST_CASE("an answer that its client has not read yet is not taken by what it asks for") {
  Talk talk;
  talk.client.reads = false;
  talk.box.arrive(mail("m-1"));
  talk.call("recv", {}, 1);
  const auto end = talk.client.written;
  talk.ask(ping);
  CHECK(talk.box.acknowledged.empty());
  talk.client.read = end - 1;
  talk.ask(ping);
  CHECK(talk.box.acknowledged.empty());
  talk.client.read = end;
  talk.ask(ping);
  CHECK(talk.box.acknowledged.size() == 1);
}

TEST_CASE("a message that cannot be acknowledged stays offered until it can be") {
  Talk talk;
  talk.box.arrive(mail("m-1"));
  talk.call("recv", {}, 1);
  talk.box.acknowledges = false;
  talk.ask(ping);
  CHECK(talk.server.holds());
  talk.box.acknowledges = true;
  talk.ask(ping);
  CHECK(talk.box.acknowledged.size() == 1);
}

TEST_CASE("a call that is canceled is not answered and takes nothing along") {
  Talk talk;
  talk.say(recv(1));
  talk.say(R"({"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"name":"recv"}})");
  CHECK(talk.box.waiting == 2);
  talk.say(canceled("17"));     // unknown
  talk.say(canceled("\"1\""));  // another id than 1
  CHECK(talk.box.waiting == 2);
  talk.say(canceled("1"));
  talk.say(canceled("\"one\""));
  CHECK(talk.box.waiting == 0);
  CHECK(talk.server.idle());
  CHECK(talk.client.lines.empty());
  talk.box.arrive(mail("m-1"));
  CHECK(content(talk.call("try_recv", {}, 1)).at("message").at("id") == "m-1");
}

TEST_CASE("a cancellation that crosses its answer gives the message back, as a possible repeat") {
  Talk talk;
  talk.box.arrive(mail("m-1"));
  talk.call("recv", {}, 1);
  talk.say(canceled("1"));
  CHECK_FALSE(talk.server.holds());
  const auto again = talk.call("try_recv", {}, 2);
  CHECK(content(again).at("message").at("attempts") == 2);
  CHECK(talk.box.acknowledged.empty());
}

TEST_CASE("what nobody acknowledges comes back after its time") {
  Server::Settings settings;
  settings.ack_within = milliseconds(5);
  Talk talk(settings);
  talk.box.arrive(mail("m-1"));
  talk.server.hear(recv(1));
  CHECK(talk.comes([&] { return talk.box.given_back > 0; }));
  CHECK(talk.box.given_back == 1);
  CHECK(talk.box.queued() == 1);
}

TEST_CASE("a client that ends the conversation has what it has read, one that dies has not") {
  for (const bool lives : {true, false}) {
    for (const bool read : {true, false}) {
      Talk talk;
      talk.client.reads = read;
      talk.box.arrive(mail("m-1"));
      talk.server.hear(recv(1));
      REQUIRE(talk.comes([&] { return talk.box.queued() == 0; }));
      talk.run();
      talk.server.input_ended();
      talk.server.leave(lives);
      CHECK(talk.box.acknowledged.size() == (lives && read ? 1U : 0U));
      CHECK(talk.box.queued() == (lives && read ? 0U : 1U));
    }
  }
}

TEST_CASE("the end of the input ends who waits, without an answer") {
  Talk talk;
  talk.say(recv(1));
  talk.server.input_ended();
  CHECK(talk.comes([&] { return talk.server.idle(); }));
  CHECK(talk.client.lines.empty());
  CHECK(talk.box.waiting == 0);
}

TEST_CASE("a call that waits says so again and again, where its client wants to hear it") {
  Server::Settings settings;
  settings.progress_every = milliseconds(4);
  Talk talk(settings);
  talk.say(recv(1, R"(,"_meta":{"progressToken":"t"})"));
  talk.say(recv(2));
  REQUIRE(talk.comes([&] { return talk.client.lines.size() > 2; }));
  double before = 0;
  for (const auto& line : talk.client.lines) {
    const auto said = json::parse(line).as_object();
    CHECK(said.at("method") == "notifications/progress");
    CHECK(said.at("params").at("progressToken") == "t");
    CHECK(said.at("params").at("progress").to_number<double>() > before);
    CHECK(said.at("params").at("total") == 60.0);
    before = said.at("params").at("progress").to_number<double>();
  }
  talk.client.full = true;  // it reads nothing: progress would only heap up
  talk.client.lines.clear();
  talk.run();
  CHECK(talk.client.lines.empty());
  talk.client.full = false;
  CHECK(talk.comes([&] { return !talk.client.lines.empty(); }));
  talk.say(canceled("1"));
  talk.client.lines.clear();
  talk.run();
  CHECK(talk.client.lines.empty());
}

TEST_CASE("a token of progress is a whole number or a short text: others are passed over") {
  Server::Settings settings;
  settings.progress_every = milliseconds(2);
  for (const auto& [token, heard] : std::vector<std::pair<std::string, bool>>{
           {"7", true}, {'"' + std::string(256, 't') + '"', true}, {'"' + std::string(257, 't') + '"', false},
           {"1e999", false}, {"true", false}, {"[1]", false}}) {
    CAPTURE(token);
    Talk talk(settings);
    talk.say(recv(1, R"(,"_meta":{"progressToken":)" + token + "}"));
    if (heard) CHECK(talk.comes([&] { return !talk.client.lines.empty(); }));
    talk.run();
    CHECK(talk.client.lines.empty() != heard);
  }
}

TEST_CASE("a number that JSON has no word for is a text in what we write") {
  Talk talk;
  talk.box.arrive({{"id", "m-1"}, {"from", "bob"}, {"type", "note"}, {"payload", json::parse("[1e999,{\"a\":-1e999},1.5]")}});
  const auto answer = talk.call("try_recv", {});
  CHECK(content(answer).at("message").at("payload") == json::parse(R"(["1e999",{"a":"-1e999"},1.5])"));
}

TEST_CASE("so many calls are open and no more, and an id is used by one of them") {
  Talk talk;
  for (int i = 0; i < 300; ++i) talk.server.hear(recv(i));
  CHECK(talk.comes([&] { return talk.client.lines.size() >= 300 - Server::most_open; }));
  talk.run();
  CHECK(talk.client.lines.size() == 300 - Server::most_open);
  CHECK(sentence(json::parse(talk.client.lines.front()).as_object()).find("256 calls are open") != std::string::npos);
  talk.client.lines.clear();
  talk.server.hear(recv(0));
  CHECK(code_of(json::parse(talk.client.lines.at(0)).as_object()) == -32600);
  CHECK(talk.ask(ping).at("id") == 99);
  talk.server.leave(false);
  talk.run();
}

TEST_CASE("what is too long for one answer is cut, and its note says where the rest is") {
  Talk talk;
  auto message = mail("m-1");
  message["payload"] = std::string(200'000, 'x') + "\xc3\xa4";
  talk.box.arrive(message);
  const auto answer = talk.call("recv", {}, 1);
  const auto& cut = content(answer);
  CHECK(json::serialize(cut).size() <= longest_answer);
  CHECK(json::serialize(cut).size() > longest_answer / 2);
  CHECK(cut.at("message").at("id") == "m-1");
  CHECK(cut.at("note") == "cut, as too long for one answer: payload (200004 bytes); all of it is below /scratch");
  json::object list{{"tasks", json::array{json::object{{"id", "big"}, {"p", std::string(70'000, 'p')}}, json::object{{"id", "small"}}}}};
  clip(list, Shape::tasks, "elsewhere");
  json::object noted{{"message", json::object{{"payload", std::string(70'000, 'p')}}}, {"note", "said before"}};
  clip(noted, Shape::message, "elsewhere");
  CHECK(noted.at("note").as_string().starts_with("said before; cut, as too long for one answer: payload"));
  CHECK(list.at("tasks") == json::array{json::object{{"id", "small"}}});
  CHECK(list.at("note") == "1 of 2 are left out: too long for one answer; elsewhere");
}

TEST_CASE("a text that was cut in the middle of a character is heard, and a line of ours is never cut by one") {
  Talk talk;
  const auto answer = talk.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"to":"bob","type":"n","payload":"\ud83d"}}})");
  CHECK(content(answer).at("message").at("payload") == "\xef\xbf\xbd");
  const auto line = talk.ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"send\",\"arguments\":{\"to\":\"bob\",\"type\":\"n\",\"payload\":\"a\xe2\x80\xa8" "b\"}}}");
  CHECK(content(line).at("message").at("payload") == "a\xe2\x80\xa8" "b");
  CHECK(talk.client.lines.front().find("\xe2\x80\xa8") == std::string::npos);
  CHECK(talk.client.lines.front().find('\n') == talk.client.lines.front().size() - 1);
}

}  // namespace inbox_poller::mcp_server_test
