// What may be pasted, and in front of whom. The pasting itself: panes_test, and the tests with a real lead's terminal.
#include "poller/delivery/tmux_sink.hpp"

#include <cstdlib>

#include "tests/support/catch.hpp"

using namespace inbox_poller::poller;

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
