// What a request is about, in one line; and what an edit changes.
#include "handlers/subject.hpp"

#include "handlers/change.hpp"
#include "handlers/permission.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::subject_test {

namespace {

std::string of_call(std::string_view tool, std::string_view input) {
  Request request;
  request.subject = tool;
  request.body = input;
  request.description = "Something harmless";
  return subject_of(request);
}

std::string of(RequestKind kind, std::string_view subject, std::string_view body) {
  Request request;
  request.kind = kind;
  request.subject = subject;
  request.body = body;
  return subject_of(request);
}

std::string diff(std::string before, std::string after) {
  return change_text({std::move(before), std::move(after)}, "| ");
}

}  // namespace

TEST_CASE("the subject of a command is its first line that does something, and says that there are more") {
  CHECK(of_call("Bash", R"({"command":"git push","description":"List files"})") == "Bash: git push");
  CHECK(of_call("Bash", R"({"command":"\n# tidy up\n  rm -rf x\r\n\nls\nls"})") == "Bash: rm -rf x (+2 lines)");
  CHECK(of_call("Bash", R"({"command":"# only words\n# and more"})") == "Bash: # only words (+1 lines)");
  CHECK(of_call("Bash", R"({"command":""})") == "Bash: ");
  CHECK(of_call("Bash", R"({"command":"make","dangerouslyDisableSandbox":true,"run_in_background":false})") ==
        "Bash [dangerouslyDisableSandbox]: make");
  // The tool stands in front: no other tool's member passes for a command of Bash.
  CHECK(of_call("mcp__x__run", R"({"command":"ls"})") == "mcp__x__run: ls");
}

TEST_CASE("the subject of an edit is the file with its change, and of any other call what it is given") {
  CHECK(of_call("Edit", R"({"file_path":"/r/a.c","old_string":"a\nb\nc","new_string":"a\nB\nc\nd"})") ==
        "Edit: /r/a.c +2 -1");
  CHECK(of_call("Write", R"({"file_path":"/r/a.c","content":"one\ntwo\n"})") == "Write: /r/a.c +2 -0");
  CHECK(of_call(
            "MultiEdit",
            R"({"file_path":"a","edits":[{"old_string":"x","new_string":""},{"old_string":"y","new_string":"z"}]})") ==
        "MultiEdit: a +1 -2");
  CHECK(of_call("Edit", R"({"file_path":"a","old_string":1,"new_string":"x"})") == "Edit: a");
  CHECK(of_call("Read", R"({"file_path":"/etc/passwd"})") == "Read: /etc/passwd");
  CHECK(of_call("WebFetch", R"({"url":"https://x.test/a","prompt":"p"})") == "WebFetch: https://x.test/a");
  CHECK(of_call("mcp__x__y", R"({"a":1})") == R"(mcp__x__y: {"a":1})");
  CHECK(of_call("Bash", "no JSON") == "Bash: no JSON");
}

TEST_CASE("the subject of a host, of a plan and of a wish to stop") {
  CHECK(of(RequestKind::sandbox, "x.test port 8443", "X.test:8443") == "x.test port 8443");
  CHECK(of(RequestKind::plan, "/p.md", "\n## Parser, first step\n\n1. read") == "Parser, first step");
  CHECK(of(RequestKind::plan, "/p.md", "\n#\n") == "/p.md");
  CHECK(of(RequestKind::plan, "/p.md", "") == "/p.md");
  CHECK(of(RequestKind::stop, "w1", "") == "to stop");
  CHECK(of(RequestKind::stop, "w1", "all done\nreally") == "to stop: all done (+1 lines)");
}

TEST_CASE("a subject has no secret in it, and an end") {
  CHECK(of_call("Bash", R"({"command":"curl -H 'Authorization: Bearer abcdef123456' x"})") ==
        "Bash: curl -H 'Authorization: Bearer ***' x");
  CHECK(of_call("mcp__x__y", R"({"token":"hunter2"})") == R"(mcp__x__y: {"token":"***"})");
  const std::string word(595, 'a');
  const auto cut =
      of_call("Bash", R"({"command":")" + word + "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4" + R"("})");
  CHECK(cut == "Bash: " + word + "\xc3\xa4\xc3\xa4…");
  // Cut behind the masking: the beginning of a long secret does not stay.
  const auto secret =
      of_call("Bash", R"({"command":")" + std::string(580, 'x') + " ghp_0123456789abcdefghijklmnop" + R"("})");
  CHECK(secret.find("ghp_") == std::string::npos);
}

TEST_CASE("an edit is shown as the lines that stay, go and come, all of them") {
  CHECK(diff("a\nb\nc", "a\nB\nc") == "|  a\n| -b\n| +B\n|  c\n");
  CHECK(diff("a\nx\nb\ny\nc", "a\nb\nc") == "|  a\n| -x\n|  b\n| -y\n|  c\n");
  CHECK(diff("", "new") == "| +new\n");
  CHECK(diff("a\n", "a") == "|  a\n| \\ the newline at its end goes\n");
  CHECK(diff("a\n\n", "a\n") == "|  a\n| -\n");
  CHECK(diff("a\r", "a") == "| -a\\r\n| +a\n");
  CHECK(diff("x\x1b[2J", "") == "| -x\\x1b[2J\n");
}

TEST_CASE("two texts that are too long to be compared line by line go and come whole") {
  std::string before, after;
  for (int i = 0; i < 1500; ++i) {
    before += "b" + std::to_string(i) + "\n";
    after += "a" + std::to_string(i) + "\nsame\n";
  }
  const auto lines = lines_of({"head\n" + before, "head\n" + after});
  CHECK(lines.size() == 1 + 1500 + 3000);
  CHECK(lines.front().sign == ' ');
  CHECK(count_of({{before, after}}) == "+3000 -1500");
}

TEST_CASE("the input of an edit shows its change in place of the two texts, and leaves nothing else out") {
  CHECK(input_text("Edit", R"({"file_path":"a","old_string":"x","new_string":"y","replace_all":true})", "", "| ") ==
        "file_path:\n| a\nreplace_all:\n| true\nthe change, line by line (\"-\" goes, \"+\" comes):\n| -x\n| +y\n");
  // A name twice: what would be carried out is not certain, so all of it is shown.
  const auto twice = input_text("Edit", R"({"old_string":"x","old_string":"z","new_string":"y"})", "", "| ");
  CHECK(twice == "old_string:\n| x\nold_string:\n| z\nnew_string:\n| y\n");
  const auto many = input_text("MultiEdit", R"({"edits":[{"old_string":"x","new_string":"y","odd":1}]})", "", "| ");
  CHECK(many.find("\"odd\":1") != std::string::npos);
  CHECK(many.find("| -x\n| +y\n") != std::string::npos);
}

}  // namespace inbox_poller::handlers::subject_test
