// The command line against a daemon that only records: what is asked for which words, exit codes, and that messages are
// acknowledged only after they were written out.
#include "poller/cli/command.hpp"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <csignal>
#include <sstream>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::cli_commands_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;
namespace json = boost::json;

namespace {

using Words = std::vector<std::string>;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const Words every_command = {"run",        "check-config", "status",    "pending",   "approve", "deny",
                             "send",       "broadcast",    "lead",      "recv",      "ack",     "trace",
                             "quarantine", "shutdown",     "shutdowns", "mode",      "allow",   "revoke",
                             "rules",      "reload",       "resume",    "decisions", "history", "init",       "help",
                             "completion", "manual",     "wait",      "metrics"};

json::object one_message(const std::string& key = "k1") {
  return {{"messages",
           json::array{json::object{{"message_key", key}, {"from", "alice"}, {"text", "hi\u202e"}, {"attempts", 1}}}},
          {"block", "<teammate-message teammate_id=\"alice\">\nhi\n</teammate-message>"},
          {"held", 0},
          {"lead_state", "idle"}};
}

/// What the command prints on a terminal of this width.
std::string on_terminal(const TempDir& dir, const Words& words, unsigned short columns) {
  const Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(::grantpt(master.get()) == 0);
  REQUIRE(::unlockpt(master.get()) == 0);
  const winsize size{24, columns, 0, 0};
  REQUIRE(::ioctl(master.get(), TIOCSWINSZ, &size) == 0);
  std::string text;
  std::thread reader([&] {  // a terminal takes only some bytes that nobody reads
    char part[4096];
    for (ssize_t count = 0; !text.ends_with('\x04') && (count = ::read(master.get(), part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(count));
  });
  const std::string name = ::ptsname(master.get());
  const Fd slave(::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  run_cli(dir, words, "", name);
  CHECK(::write(slave.get(), "\x04", 1) == 1);
  reader.join();
  std::erase_if(text, [](char c) { return c == '\r' || c == '\x04'; });
  return text;
}

}  // namespace

TEST_CASE("a help fits the terminal, but for examples") {
  const TempDir dir;
  for (const Words& words : {Words{"approve", "--help"}, {"recv", "--help"}, {"doctor", "--help"}, {"--help"}}) {
    const std::string shown = on_terminal(dir, words, 80);
    CHECK(has(shown, "Exit codes:"));
    bool is_example = false;
    std::istringstream lines(shown);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line.starts_with("Example")) is_example = !line.empty();
      INFO(line);
      CHECK((is_example || line.size() <= 80));
    }
  }
}

TEST_CASE("every command has a help with an example and the exit codes") {
  const TempDir dir;
  const Outcome all = run_cli(dir, {"--help"});
  CHECK(all.code == 0);
  for (const std::string& command : every_command) {
    INFO(command);
    CHECK(has(all.out, "  " + command));
    const Outcome outcome = run_cli(dir, {command, "--help"});
    CHECK(outcome.code == 0);
    CHECK(has(outcome.out, "Example"));
    CHECK(has(outcome.out, "inbox-poller " + command));
    CHECK(has(outcome.out, "Exit codes:"));
  }
  for (const char* command : {"install", "uninstall", "wait", "worker"})
    CHECK(has(run_cli(dir, {"hook", command, "--help"}).out, "(with `hook`, or no word at all: 1)"));
  CHECK_FALSE(has(run_cli(dir, {"send", "--help"}).out, "or no word at all"));
  CHECK(has(run_cli(dir, {"run", "--help"}).out, "  6  the ledger was taken away"));
  CHECK(has(run_cli(dir, {"inbox", "send", "--help"}).out, "  MEMBER REQUIRED"));
  for (const auto& command : every_command) {
    std::istringstream lines(run_cli(dir, {command, "--help"}).out);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 120);
  }
  const std::string version = run_cli(dir, {"--version"}).out;
  CHECK(version.starts_with("inbox-poller " INBOX_POLLER_VERSION "\ncommit "));
  for (const char* library : {"Boost 1.", "SQLite 3.", "OpenSSL 3.", "spdlog 1.", "toml++ 3.", "CLI11 2."})
    CHECK(has(version, library));
  CHECK(run_cli(dir, {"-V"}).out == version);
  CHECK(run_cli(dir, {"help"}).out == all.out);
  CHECK(run_cli(dir, {"help", "run"}).out == run_cli(dir, {"run", "--help"}).out);
}

TEST_CASE("help never acts, whatever follows the command") {
  const TempDir dir;
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{{"approve", "perm-1"},
                                                                                    {"shutdown", "ada", "--json"},
                                                                                    {"init", "--yes"},
                                                                                    {"inbox", "clear", "ada"},
                                                                                    {"pending", "--json"}}) {
    std::vector<std::string> asked{"help"};
    asked.insert(asked.end(), more.begin(), more.end());
    std::vector<std::string> command{more[0], "--help"};
    if (more[0] == "inbox") command.insert(command.begin() + 1, more[1]);
    const auto told = run_cli(dir, asked);
    INFO(more[0]);
    CHECK(told.code == 0);
    CHECK(told.out == run_cli(dir, command).out);
  }
  CHECK(run_cli(dir, {"help", "nothing", "approve", "perm-1"}).code == 2);
}

TEST_CASE("a wrong command line is told on the error output and leaves with 2") {
  const TempDir dir;
  const std::vector<Words> wrong = {{"dance"},
                                    {"deny", "perm-1"},
                                    {"approve"},
                                    {"approve", "--alwys", "perm-1"},
                                    {"send", "alice"},
                                    {"lead", "sleepy"},
                                    {"lead", "idle", "--ttl", "10min"},
                                    {"lead", "busy", "--ttl", "ten"},
                                    {"recv", "--wait=soon"},
                                    {"recv", "--ack-from-stdin"},
                                    {"recv", "--after", "k"},
                                    {"recv", "--follow", "--wait"},
                                    {"recv", "--follow", "--no-ack"},
                                    {"recv", "--follow", "--ack-from-stdin", "--format", "text"},
                                    {"pending", "--watch"},
                                    {"decisions", "--since", "yesterday"},
                                    {"decisions", "--limit", "0"},
                                    {"history", "--since", "yesterday"},
                                    {"history", "--limit", "0"},
                                    {"recv", "--max", "0"},
                                    {"recv", "--format", "xml"},
                                    {"ack"},
                                    {"shutdown"},
                                    {"shutdown", "alice", "--all"},
                                    {"shutdown", "alice", "--force-after", "soon"},
                                    {"shutdown", "alice", "--wait=soon"},
                                    {"mode", "plan"},
                                    {"mode", "--all", "alice", "plan"},
                                    {"allow"},
                                    {"revoke"},
                                    {"status", "--watch=never"},
                                    {"status", "--watch=1ms"},
                                    {"status", "--short", "--long"},
                                    {"wait"},
                                    {"wait", "--idle", "--timeout", "soon"},
                                    {"run", "--once", "--polls", "3"},
                                    {"run", "--log-level", "loud"},
                                    {"status", "--socket", "/tmp/" + std::string(200, 'x')}};
  // Not 2: a client that does not know the words of a hook calls it without any, and 2 would block that client.
  CHECK(run_cli(dir, {}).code == 1);
  for (const Words& words : wrong) {
    const Outcome outcome = run_cli(dir, words);
    INFO((words.empty() ? "" : words[0]) << ": " << outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_FALSE(outcome.err.empty());
  }
}

TEST_CASE("without a daemon every command that needs one leaves with 3 and says what was tried") {
  const TempDir dir;
  const std::vector<Words> commands = {{"status"},         {"pending"},
                                       {"approve", "p"},   {"deny", "p", "--reason", "r"},
                                       {"send", "a", "t"}, {"broadcast", "t"},
                                       {"lead"},           {"recv", "--wait"},
                                       {"ack", "k"},       {"trace", "k"},
                                       {"quarantine"},     {"shutdown", "a", "--wait"},
                                       {"shutdowns"},      {"mode", "a", "plan"},
                                       {"allow", "Bash"},  {"revoke", "Bash"},
                                       {"rules"},          {"reload"},
                                       {"resume"},         {"status", "--watch"},
                                       {"decisions"},      {"recv", "--follow"},
                                       {"history"},        {"wait", "--idle"},
                                       {"metrics"}};
  for (Words words : commands) {
    words.insert(words.end(), {"--socket", dir / "none.sock"});
    const Outcome outcome = run_cli(dir, words);
    INFO(words[0]);
    CHECK(outcome.code == 3);
    CHECK(has(outcome.err, dir / "none.sock"));
    CHECK(has(outcome.err, "inbox-poller run"));
  }
  const Outcome outcome = run_cli(dir, {"--json", "--socket", dir / "none.sock", "status"});
  CHECK(outcome.code == 3);
  CHECK(json::parse(outcome.out).at("code") == "control.no_daemon");
}

TEST_CASE("without --socket the socket is where the daemon's configuration puts it") {
  const TempDir dir;
  const EnvironmentVariable runtime("XDG_RUNTIME_DIR", dir / "run");
  const EnvironmentVariable config("XDG_CONFIG_HOME", dir / "config");
  CHECK(has(run_cli(dir, {"status"}).err, dir / "run/inbox-poller/control.sock"));

  FakeDaemon daemon(dir / "run/inbox-poller/control.sock");
  daemon.prepare("quarantine", {});
  CHECK(run_cli(dir, {"quarantine"}).code == 0);
}

TEST_CASE("words become requests") {
  const TempDir dir;
  const EnvironmentVariable user("USER", "carol");
  FakeDaemon daemon(dir / "s");
  for (const char* verb : {"status", "pending", "approve", "deny", "send", "broadcast", "lead", "trace", "quarantine",
                           "shutdown", "shutdowns", "mode", "allow", "revoke", "rules", "reload", "resume"})
    daemon.prepare(verb, {});
  daemon.prepare("ack", {{"acknowledged", 1}});
  daemon.prepare("decisions", {{"decisions", json::array{json::object{}}}});
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"status"}, R"({"verb":"status"})"},
      {{"status", "--team", "demo"}, R"({"verb":"status","team":"demo"})"},
      {{"--team", "demo", "pending"}, R"({"verb":"pending","team":"demo"})"},
      {{"approve", "perm-1"}, R"({"verb":"approve","ids":["perm-1"],"by":"carol"})"},
      {{"approve", "perm-1", "--always", "--mode", "acceptEdits", "--input", "{\"a\":1}", "--note", "n"},
       R"({"verb":"approve","ids":["perm-1"],"by":"carol","always":true,"mode":"acceptEdits","input":"{\"a\":1}","note":"n"})"},
      {{"deny", "perm-1", "--reason", "no"}, R"({"verb":"deny","ids":["perm-1"],"by":"carol","reason":"no"})"},
      {{"approve", "perm-1", "--by", "team-lead"}, R"({"verb":"approve","ids":["perm-1"],"by":"team-lead"})"},
      {{"deny", "perm-1", "--by", "team-lead", "--reason", "no"},
       R"({"verb":"deny","ids":["perm-1"],"by":"team-lead","reason":"no"})"},
      {{"send", "alice", "hello there", "--summary", "s"},
       R"({"verb":"send","member":"alice","text":"hello there","summary":"s"})"},
      {{"send", "alice", "-"}, "{\"verb\":\"send\",\"member\":\"alice\",\"text\":\"from\\nstdin\\n\"}"},
      {{"send", "alice", "--", "--dash"}, R"({"verb":"send","member":"alice","text":"--dash"})"},
      {{"broadcast", "all"}, R"({"verb":"broadcast","text":"all"})"},
      {{"lead"}, R"({"verb":"lead"})"},
      {{"lead", "busy", "--ttl", "10min"}, R"({"verb":"lead","state":"busy","for_ms":600000})"},
      {{"lead", "idle"}, R"({"verb":"lead","state":"idle"})"},
      {{"ack", "k1", "k2"}, R"({"verb":"ack","keys":["k1","k2"]})"},
      {{"trace", "k"}, R"({"verb":"trace","id":"k"})"},
      {{"quarantine", "--limit", "5"}, R"({"verb":"quarantine","limit":5})"},
      {{"shutdown", "alice"}, R"({"verb":"shutdown","by":"carol","member":"alice"})"},
      {{"shutdown", "--all", "--reason", "r", "--remind-after", "0s", "--force-after", "2min"},
       R"({"verb":"shutdown","by":"carol","all":true,"reason":"r","remind_after_ms":0,"force_after_ms":120000})"},
      {{"shutdowns", "--limit", "3"}, R"({"verb":"shutdowns","limit":3})"},
      {{"mode", "alice", "plan"}, R"({"verb":"mode","mode":"plan","by":"carol","member":"alice"})"},
      {{"mode", "--all", "plan"}, R"({"verb":"mode","mode":"plan","by":"carol","all":true})"},
      {{"allow", "Edit", "--directory", "/repo"}, R"({"verb":"allow","rule":"Edit","by":"carol","directory":"/repo"})"},
      {{"revoke", "Edit"}, R"({"verb":"revoke","rule":"Edit","by":"carol"})"},
      {{"rules", "--team", "demo"}, R"({"verb":"rules","team":"demo"})"},
      {{"decisions", "--limit", "3", "--member", "ann"}, R"({"verb":"decisions","limit":3,"member":"ann"})"},
      {{"decisions", "--asker", "ann"}, R"({"verb":"decisions","member":"ann"})"},
      {{"reload"}, R"({"verb":"reload"})"},
      {{"resume", "--team", "demo"}, R"({"verb":"resume","team":"demo"})"}};
  for (auto [words, request] : cases) {
    INFO(request);
    words.insert(words.begin(), {"--socket", dir / "s"});
    const auto before = static_cast<std::ptrdiff_t>(daemon.requests().size());
    CHECK(run_cli(dir, words, "from\nstdin\n").code == 0);
    const auto made = daemon.requests();  // where no request waits, `pending` looks whether another node has them
    CHECK(std::count(made.begin() + before, made.end(), json::parse(request).as_object()) == 1);
  }
}

TEST_CASE("a refusal is told with the daemon's words - an unknown id is nothing there") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("approve", {{"code", "request.already_decided"}, {"message", "denied by bob\x1b[2J"}});
  daemon.prepare("trace", {{"code", "request.unknown"}, {"message", "nothing with this id"}});
  const Outcome refused = run_cli(dir, {"approve", "p", "--socket", dir / "s"});
  CHECK(refused.code == 1);
  CHECK(refused.err == "inbox-poller: denied by bob\\x1b[2J\n");
  CHECK(run_cli(dir, {"trace", "p", "--socket", dir / "s"}).code == 4);
  const Outcome raw = run_cli(dir, {"approve", "p", "--json", "--socket", dir / "s"});
  CHECK(raw.code == 1);
  CHECK(json::parse(raw.out).at("code") == "request.already_decided");
}

TEST_CASE("with --json the command prints the daemon's answer whole") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  const json::object answer{{"requests", json::array{json::object{{"new_field", "\u202e"}}}}};
  daemon.prepare("pending", answer);
  const Outcome outcome = run_cli(dir, {"pending", "--json", "--socket", dir / "s"});
  CHECK(json::parse(outcome.out).at("requests") == answer.at("requests"));
  CHECK_FALSE(has(outcome.out, "\u202e"));
}

TEST_CASE("run hands its words to the daemon and leaves with the daemon's code") {
  const TempDir dir;
  std::optional<RunOptions> seen;
  const cli::RunDaemon run_daemon = [&](const RunOptions& options) {
    seen = options;
    return 1;
  };
  CHECK(run_cli(dir,
                {"run", "--config", "a.toml", "b.toml", "--config-dir", "d", "--daemon-config", "x.toml", "--polls",
                 "3", "--new-ledger", "--log-level", "warn", "--log-format", "json", "--socket", dir / "s"},
                "", "", run_daemon)
            .code == 1);
  REQUIRE(seen);
  CHECK(seen->sources.files == Words{"a.toml", "b.toml"});
  CHECK(seen->sources.dir == "d");
  CHECK(seen->sources.daemon_file == "x.toml");
  CHECK(seen->polls == 3U);
  CHECK(seen->new_ledger);
  CHECK(seen->log_level == config::LogLevel::warn);
  CHECK(seen->log_format == config::LogFormat::json);
  CHECK(seen->socket == dir / "s");
  seen.reset();
  const Outcome refused = run_cli(dir, {"run", "--once", "--team", "nope"}, "", "", run_daemon);
  CHECK(refused.code == 2);  // it would serve all teams
  CHECK(has(refused.err, "--config FILE"));
  CHECK_FALSE(seen);
  const EnvironmentVariable home("HOME", ""), config_home("XDG_CONFIG_HOME", "");
  CHECK(run_cli(dir, {"run", "--once"}, "", "", run_daemon).out.empty());  // no folder to name; the daemon reports it
  CHECK(seen->polls == 1U);
  CHECK_FALSE(seen->log_level);
  CHECK(seen->socket.empty());
}

TEST_CASE("recv prints the block and acknowledges over the same connection") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("recv", one_message());
  daemon.prepare("ack", {{"acknowledged", 1}});
  const Outcome text = run_cli(dir, {"recv", "--socket", dir / "s"});
  CHECK(text.code == 0);
  CHECK(text.out == "<teammate-message teammate_id=\"alice\">\nhi\n</teammate-message>\n");
  REQUIRE(daemon.requests().size() == 2);
  CHECK(daemon.requests()[0] == json::object{{"verb", "recv"}});
  CHECK(daemon.requests()[1] == json::object{{"verb", "ack"}, {"keys", json::array{"k1"}}});
  CHECK(daemon.sessions() == 1);

  const Outcome lines = run_cli(dir, {"recv", "--format", "json", "--max", "7", "--ignore-busy", "--socket", dir / "s"});
  CHECK(lines.code == 0);
  CHECK(json::parse(lines.out) == one_message().at("messages").at(0));
  CHECK(daemon.requests()[2].at("max") == 7);
  CHECK(daemon.requests()[2].at("ignore_busy") == true);
}

TEST_CASE("what recv could not write out is not acknowledged") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("recv", one_message());
  daemon.prepare("ack", {{"acknowledged", 1}});

  const Outcome full = run_cli(dir, {"recv", "--socket", dir / "s"}, "", "/dev/full");
  CHECK(full.code == 1);
  CHECK(has(full.err, "nothing was acknowledged"));

  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  ::close(pipe_ends[0]);
  const Fd writer(pipe_ends[1]);
  const Fd err(::open((dir / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  cli::Console console(-1, writer.get(), err.get());
  CHECK(cli::run_command_line({"recv", "--socket", dir / "s"}, console, {}) == 1);
  CHECK(has(content_of(dir / "err"), "nothing was acknowledged"));

  for (const json::object& request : daemon.requests()) CHECK(request.at("verb") == "recv");
}

TEST_CASE("with --no-ack the messages are held and the person is told how to acknowledge") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("recv", one_message());
  const Outcome outcome = run_cli(dir, {"recv", "--no-ack", "--socket", dir / "s"});
  CHECK(outcome.code == 0);
  CHECK(has(outcome.err, "inbox-poller ack k1"));
  REQUIRE(daemon.requests().size() == 1);
  CHECK(daemon.requests()[0].at("hold") == true);
}

TEST_CASE("an acknowledgment that the daemon does not take is said: the messages may come again") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("recv", one_message());
  daemon.prepare("ack", {{"acknowledged", 0}});
  const Outcome outcome = run_cli(dir, {"recv", "--socket", dir / "s"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "may come again"));
}

TEST_CASE("recv without a message leaves with 4 and tells what is held and why") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("recv", {{"messages", json::array{}}, {"block", ""}, {"held", 3}, {"lead_state", "busy"}});
  const Outcome outcome = run_cli(dir, {"recv", "--socket", dir / "s"});
  CHECK(outcome.code == 4);
  CHECK(outcome.out.empty());
  CHECK(has(outcome.err, "3 held, the lead is busy"));
}

TEST_CASE("recv that waits passes the time on, and goes on for ever without one") {
  const TempDir dir;
  FakeDaemon daemon(dir / "s");
  daemon.prepare("recv", one_message());
  daemon.prepare("ack", {{"acknowledged", 1}});
  run_cli(dir, {"recv", "--wait=5s", "--socket", dir / "s"});
  const long long wait = daemon.requests()[0].at("wait_ms").as_int64();
  CHECK(wait > 4000);
  CHECK(wait <= 5000);
  run_cli(dir, {"recv", "--wait", "--socket", dir / "s"});
  CHECK(daemon.requests()[2].at("wait_ms") == 3'600'000);
}

TEST_CASE("SIGINT ends a waiting recv as the shell expects, and nothing was acknowledged") {
  const TempDir dir;
  const pid_t child = ::fork();  // before any thread is started
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    while (!ControlClient::connect(dir / "s")) ::usleep(2000);  // clock: until the condition is checked again
    cli::Console console(-1, -1, -1);
    ::_exit(cli::run_command_line({"recv", "--wait", "--socket", dir / "s"}, console, {}));
  }
  FakeDaemon daemon(dir / "s");
  CHECK(eventually([&] { return !daemon.requests().empty(); }));
  ::kill(child, SIGINT);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);  // a shell reports 130
  CHECK(daemon.requests().size() == 1);
}

TEST_CASE("check-config prints what is in effect, or all complaints and leaves with 2") {
  const TempDir dir;
  std::ofstream(dir / "good.toml") << "[team]\nname = \"demo\"\n";
  std::ofstream(dir / "bad.toml") << "[team]\nnome = \"demo\"\n[delivery]\nbatch = \"many\"\n";
  const Outcome good = run_cli(dir, {"check-config", "--config", dir / "good.toml"});
  CHECK(good.code == 0);
  CHECK(has(good.out, "team.poll_interval"));
  CHECK(has(good.out, "default"));
  CHECK(has(good.out, dir / "good.toml:2"));
  const EnvironmentVariable config_home("XDG_CONFIG_HOME", dir / "none");
  const Outcome none = run_cli(dir, {"check-config", "--socket", dir / "none"});
  CHECK(has(none.out, "the built-in team file:3"));
  CHECK_FALSE(has(none.out, "teams.d"));
  const Outcome bad = run_cli(dir, {"check-config", "--config", dir / "bad.toml"});
  CHECK(bad.code == 2);
  CHECK(bad.out.empty());
  CHECK(has(bad.err, dir / "bad.toml:2:"));
  CHECK(has(bad.err, dir / "bad.toml:4:"));
  const Outcome raw = run_cli(dir, {"check-config", "--json", "--config", dir / "bad.toml"});
  CHECK(raw.code == 2);
  CHECK(json::parse(raw.out).at("ok") == false);
}

}  // namespace inbox_poller::cli_commands_test
