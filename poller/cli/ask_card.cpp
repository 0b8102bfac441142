#include "poller/cli/ask_card.hpp"

#include "handlers/answers_count.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

/// A tool's input, member by member as it was written: nothing is left out and no value is spelled anew.
std::string input_text(const std::string& body) {
  const auto members = schema::scan_object(body);
  if (!members) return printable_block(body, "    | ");
  std::string text;
  for (const schema::MemberSpan& member : *members) {
    const std::string_view value = member.value.of(body);
    const std::string name = schema::decode_string(member.key.of(body)).value_or("");
    text += "    " + printable(name) + ":\n";
    text += printable_block(schema::decode_string(value).value_or(std::string(value)), "    | ");
  }
  return text.empty() ? "    (empty)\n" : text;
}

std::string claim(std::string_view title, const std::string& text) {
  return text.empty() ? "" : "  " + std::string(title) + ":\n" + printable_block(text, "    | ");
}

std::string what_is_asked(const json::object& ask, const std::string& asker) {
  const std::string kind = raw_text_of(ask, "kind");
  const std::string subject = text_of(ask, "subject");
  const std::string body = raw_text_of(ask, "body");
  if (kind == "permission") return "  " + asker + " asks to use " + subject + " with\n" + input_text(body);
  if (kind == "sandbox")
    return "  " + asker + " asks to reach the host\n" + printable_block(body.empty() ? subject : body, "    | ");
  if (kind == "stop")
    return "  " + asker + " asks to stop; approving ends its process and takes it out of the team\n" +
           claim("its reason", body);
  return "  " + asker + " asks for approval of a plan" + (subject.empty() ? "" : " (" + subject + ")") + "\n" +
         printable_block(body, "    | ");
}

}  // namespace

std::string ask_name(const json::object& ask) { return text_of(ask, "kind") + ' ' + text_of(ask, "request_id"); }

std::string ask_text(const json::object& ask, const std::string& when) {
  const std::string asker = text_of(ask, "asker");
  std::string reason = text_of(ask, "reason");
  const std::string cannot = text_of(ask, "answers_reason");
  // What the daemon put behind it is said below.
  const std::string said = "; " + handlers::verifies(asker, {{}, cannot});
  if (!can_be_answered(ask) && reason.ends_with(said)) reason.resize(reason.size() - said.size());
  std::string suggestions = raw_text_of(ask, "suggestions");
  if (suggestions == "[]" || suggestions == "null") suggestions.clear();
  return "  team " + text_of(ask, "team") + '\n' + what_is_asked(ask, asker) +
         claim(asker + "'s description, not checked by anybody", raw_text_of(ask, "description")) +
         claim(asker + "'s suggestions, not applied by an approval", suggestions) +
         (reason.empty() ? "" : "  why you are asked: " + reason + '\n') +
         (can_be_answered(ask) ? "" : "  it cannot be answered from here: " + cannot + '\n') + "  asked " + when;
}

bool can_be_answered(const json::object& ask) {
  const std::string answers = raw_text_of(ask, "answers");  // an older daemon does not say
  return answers.empty() || answers == "count";
}

}  // namespace inbox_poller::poller::cli
