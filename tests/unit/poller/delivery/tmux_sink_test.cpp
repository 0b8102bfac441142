// What may be pasted, and in front of whom. The pasting itself: panes_test, and the tests with a real lead's terminal.
#include "poller/delivery/tmux_sink.hpp"

#include <cstdlib>

#include "tests/support/catch.hpp"
#include "tests/unit/poller/run_awaitable.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::tmux_sink_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;

namespace asio = boost::asio;

namespace {

/// A client's composer. Enter fails, and a person clears it meanwhile.
class Composer final : public Panes {
 public:
  std::string typed;
  int erased = 0;

  asio::awaitable<Result<std::optional<Pane>>> find(std::string) override { co_return std::optional(pane_); }
  asio::awaitable<Result<std::vector<Pane>>> list() override { co_return std::vector<Pane>{}; }
  asio::awaitable<Status> close(Pane) override { co_return Done{}; }
  asio::awaitable<Result<std::optional<Front>>> front(std::string) override {
    constexpr int width = 200;
    std::string rule;
    for (int i = 0; i < width; ++i) rule += "\u2500";
    Front front;
    front.pane = pane_;
    front.command = "claude";
    front.screen = {rule + "\n\u276f\u00a0" + typed + "\x1b[7m \x1b[0m\n" + rule + "\n", width,
                    2 + static_cast<int>(typed.size()), 1};
    co_return std::optional(front);
  }
  asio::awaitable<Typed> paste(Front, std::string, std::string text) override {
    typed = std::move(text);
    co_return Typed{};
  }
  asio::awaitable<Typed> press(Front, Key key) override {
    erased += key == Key::enter ? 0 : 1;
    typed.clear();
    co_return Typed{Typed::How::unknown, "tmux did not answer"};
  }

 private:
  const Pane pane_{"%1", {1, "a"}, {2, "b"}, false};
};

}  // namespace

TEST_CASE("what is pasted holds nothing that a terminal would obey, however it is spelled") {
  CHECK(paste_safe("a\tb\nc") == "a\tb\nc");
  CHECK(paste_safe("a\x1b[201~\rrm -rf /\r\n") == "a[201~rm -rf /\n");
  CHECK(paste_safe("\x1b\x1b[201~[201~") == "[201~[201~");
  CHECK(paste_safe(std::string("a\0\x01\x07\x08\x7f z", 8)) == "a z");
  CHECK(paste_safe("\u009b201~\u0080\u009f!") == "201~!");
  CHECK(paste_safe("\u202ea\u200b\u2066b\U000E0041") == "ab");
  CHECK(paste_safe("gr\u00fc\u00dfe \U0001F600") == "gr\u00fc\u00dfe \U0001F600");
}

TEST_CASE("bytes that are no UTF-8 are never pasted as they are") {
  for (int byte = 0x80; byte <= 0xFF; ++byte) {
    const auto safe = paste_safe(std::string("a") + static_cast<char>(byte) + "201~");
    CHECK(safe == "a\uFFFD201~");
  }
}

TEST_CASE("a shell, a pager and an editor would obey what is pasted, a lead takes it as text") {
  for (const auto* name :
       {"sh",     "bash",  "-bash",   "/bin/zsh", "fish",    "dash", "ksh", "ksh93", "tcsh", "csh",  "nu", "pwsh",
        "elvish", "xonsh", "busybox", "bash-5.2", "zsh-5.9", "less", "man", "vim",   "nvim", "nano", "su"}) {
    CAPTURE(name);
    CHECK(obeys_pastes(name));
  }
  for (const auto* name : {"claude", "node", "python3", "codex", "my-lead", "bashful", "2.1.329", "sh.py"}) {
    CAPTURE(name);
    CHECK_FALSE(obeys_pastes(name));
  }
}

TEST_CASE("the user's own login shell is one, whatever it is called") {
  const char* before = std::getenv("SHELL");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("SHELL", "/opt/strange/shellac", 1);
  CHECK(obeys_pastes("shellac"));
  CHECK(obeys_pastes("-shellac"));
  CHECK_FALSE(obeys_pastes("shella"));
  if (before == nullptr)
    ::unsetenv("SHELL");
  else
    ::setenv("SHELL", kept.c_str(), 1);
}

TEST_CASE("a draft that reads like the beginning of an earlier paste is a person's once the composer was empty") {
  World world([](config::TeamConfig& config) { config.delivery.tmux.settle = std::chrono::milliseconds(0); });
  Composer composer;
  TmuxSink sink(world.team->context(), composer);
  const std::string text = sink.pointer(1);
  const auto pasted = run_awaitable(sink.paste("%1", text));
  REQUIRE_FALSE(pasted);
  INFO(pasted.error().message);
  CHECK(pasted.error().message.find("the pasted text was submitted or cleared") != std::string::npos);
  CHECK(sink.pointer(1) == "[may be a repeat] " + text);
  composer.typed = text.substr(0, 9);
  const auto ready = run_awaitable(sink.ready("%1"));
  REQUIRE_FALSE(ready);
  CHECK(ready.error().code == "tmux.refused");
  CHECK(composer.typed == text.substr(0, 9));
  CHECK(composer.erased == 0);
}

}  // namespace inbox_poller::tmux_sink_test
