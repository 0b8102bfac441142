// Bytes from a terminal as keys: what is one, what is none, and what cannot pass for another.
#include "poller/cli/terminal.hpp"

#include "tests/support/catch.hpp"

using namespace inbox_poller;
using namespace inbox_poller::poller::cli;

namespace {

/// "a", "<enter>", "<paste:text>".
std::string shown(const std::vector<Key>& keys) {
  std::string text;
  for (const Key& key : keys) {
    switch (key.kind) {
      case Key::Kind::text: text += key.text; break;
      case Key::Kind::enter: text += "<enter>"; break;
      case Key::Kind::escape: text += "<escape>"; break;
      case Key::Kind::backspace: text += "<backspace>"; break;
      case Key::Kind::erase_line: text += "<erase>"; break;
      case Key::Kind::paste: text += "<paste:" + key.text + ">"; break;
    }
  }
  return text;
}

/// The same however the bytes were cut.
std::string read(std::string_view bytes) {
  KeyReader whole;
  std::string at_once = shown(whole.feed(bytes));
  at_once += shown(whole.settle());
  KeyReader single;
  std::string one_by_one;
  for (const char byte : bytes) one_by_one += shown(single.feed(std::string_view(&byte, 1)));
  one_by_one += shown(single.settle());
  CHECK(one_by_one == at_once);
  return at_once;
}

}  // namespace

TEST_CASE("characters are keys, one each, and what is cut off or no UTF-8 is none") {
  CHECK(read("aä漢\r\n\x7f\b\x15") == "aä漢<enter><enter><backspace><backspace><erase>");
  CHECK(read("\xc3z\xff\xfe q") == "z q");
  CHECK(read(std::string_view("\0\x01\x04", 3)).empty());
}

TEST_CASE("cursor keys, mouse reports and a key together with Alt are none, Escape by itself is one") {
  CHECK(read("\x1b[A\x1b[1;5D\x1bOP\x1b[<0;3;4Mx") == "x");
  CHECK(read("\x1b") == "<escape>");
  CHECK(read("\x1b\x1b") == "<escape><escape>");
  CHECK(read("\x1b"
             "a\x1b"
             "d\x1b\x7f\x1b\rn") == "n");
}

TEST_CASE("what is pasted is one piece, whatever stands in it, and no longer than it may be") {
  CHECK(read("\x1b[200~aAq\r\x1b[A\x1b[201~n") == "<paste:aAq\r\x1b[A>n");
  const auto pasted = read("\x1b[200~" + std::string(10'000, 'a') + "\x1b[201~n");
  CHECK(pasted.size() < 5000);
  CHECK(pasted.ends_with("a>n"));
}
