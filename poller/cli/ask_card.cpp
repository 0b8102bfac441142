#include "poller/cli/ask_card.hpp"

#include <boost/json.hpp>

#include "handlers/answers_count.hpp"
#include "handlers/permission.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "schema/envelope.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::string claim(std::string_view title, const std::string& text) {
  return text.empty() ? "" : "  " + std::string(title) + ":\n" + printable_block(text, "    | ");
}

std::string what_is_asked(const operations::Ask& ask, const operations::Text& folder, const std::string& asker) {
  const std::string& kind = ask.kind.bytes;
  const std::string& body = ask.body.bytes;
  if (kind == "permission") {
    return "  " + asker + " asks to use " + printable(ask.tool) + " with\n" +
           handlers::input_text(printable(ask.tool), body, "    ", "    | ") +
           (folder.empty() ? "" : "  its folder: " + printable(folder) + '\n');
  }
  if (kind == "sandbox")
    return "  " + asker + " asks to reach the host\n" + printable_block(body.empty() ? ask.subject.bytes : body, "    | ");
  if (kind == "stop")
    return "  " + asker + " asks to stop; approving ends its process and takes it out of the team\n" +
           claim("its reason", body);
  const std::string file = printable(ask.file);
  return "  " + asker + " asks for approval of a plan" + (file.empty() ? "" : " (" + file + ")") + "\n" +
         printable_block(body, "    | ");
}

/// Formats the parts of a command; the parts that no rule covers are marked.
std::string parts_of(const operations::OpenAsk& ask) {
  std::vector<config::PartVerdict> parts;
  for (const auto& part : ask.parts) parts.push_back({part.part.bytes, part.rule.bytes, part.missing.bytes});
  return handlers::parts_text(parts, "    ");
}

}  // namespace

std::string ask_identity(const operations::OpenAsk& ask) {
  std::string all;
  for (const operations::Text* field :
       {&ask.team, static_cast<const operations::Text*>(&ask.kind), &ask.request_id, &ask.member, &ask.message_key,
        &ask.subject, &ask.tool, &ask.file, &ask.body, &ask.description, &ask.suggestions})
    all += json::serialize(json::string(field->bytes)) + ' ';
  return all;
}

std::string ask_content(const operations::Ask& ask, const operations::Text& folder) {
  const std::string asker = printable(ask.member);
  std::string suggestions = ask.suggestions.bytes;
  if (suggestions == "[]" || suggestions == "null") suggestions.clear();
  return "  team " + printable(ask.team) + '\n' + what_is_asked(ask, folder, asker) +
         claim(asker + "'s description, not checked by anybody", ask.description.bytes) +
         claim(asker + "'s suggestions, not applied by an approval", suggestions);
}

std::string ask_text(const operations::OpenAsk& ask, const std::string& when) {
  std::string reason = printable(ask.reason);
  const std::string cannot = printable(ask.answers_reason);
  // The daemon appended this text to the reason; ask_text() prints it on a line of its own.
  const std::string said = "; " + handlers::verifies(printable(ask.member), {{}, cannot});
  if (!can_be_answered(ask) && reason.ends_with(said)) reason.resize(reason.size() - said.size());
  return ask_content(ask, ask.folder) + (reason.empty() ? "" : "  why you are asked: " + reason + '\n') +
         parts_of(ask) + (can_be_answered(ask) ? "" : "  it cannot be answered from here: " + cannot + '\n') +
         "  asked " + when;
}

std::vector<arguments::Strings> ids_of(const std::vector<const operations::OpenAsk*>& asks) {
  constexpr std::size_t most = 40'000;  // bytes, of the 64 KiB of a request
  std::vector<arguments::Strings> lists;
  std::size_t size = most;
  for (const auto* ask : asks) {
    std::string id = ask->message_key.bytes;  // empty for the lead's own prompts
    if (id.empty()) id = ask->request_id.bytes;
    size += id.size() + 3;
    if (size > most) {
      lists.emplace_back();
      size = id.size() + 3;
    }
    lists.back().push_back(std::move(id));
  }
  return lists;
}

std::string answered_by_rules(const std::vector<operations::RuledAsk>& asks) {
  if (asks.empty()) return {};
  std::string text = asks.size() == 1 ? "1 open ask is answered by the rules as they are now:\n"
                                      : std::to_string(asks.size()) + " open asks are answered by the rules as they are now:\n";
  for (const auto& ask : asks)
    text += "  " + printable(ask.state) + ": " + ask_name(ask) + " of " + printable(ask.member) + " (" +
            printable(ask.subject) + "), by " + printable(ask.rule) + '\n';
  return text;
}

json::object with_values(json::object answer, std::string_view list) {
  json::value* const asks = answer.if_contains(list);
  if (asks == nullptr || !asks->is_array()) return answer;
  for (json::value& one : asks->get_array()) {
    json::object* const ask = one.if_object();
    if (ask == nullptr || raw_text_of(*ask, "kind") != "permission") continue;
    const auto add = [&](const char* name, const char* text, json::kind kind) {
      const auto value = schema::parse_value(raw_text_of(*ask, text));
      if (!value || value->kind() != kind) return;
      const auto strict = schema::parse_value(schema::strict_json(*value));  // not every parser accepts 1e999
      if (strict) (*ask)[name] = *strict;
    };
    add("input", "body", json::kind::object);
    add("suggested", "suggestions", json::kind::array);
  }
  return answer;
}

bool can_be_answered(const operations::OpenAsk& ask) { return ask.answers.empty() || ask.answers == "count"; }

}  // namespace inbox_poller::poller::cli
