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

std::string what_is_asked(const json::object& ask, const std::string& asker) {
  const std::string kind = raw_text_of(ask, "kind");
  const std::string body = raw_text_of(ask, "body");
  if (kind == "permission") {
    const std::string folder = text_of(ask, "folder");
    return "  " + asker + " asks to use " + text_of(ask, "tool") + " with\n" +
           handlers::input_text(text_of(ask, "tool"), body, "    ", "    | ") +
           (folder.empty() ? "" : "  its folder: " + folder + '\n');
  }
  if (kind == "sandbox")
    return "  " + asker + " asks to reach the host\n" +
           printable_block(body.empty() ? raw_text_of(ask, "subject") : body, "    | ");
  if (kind == "stop")
    return "  " + asker + " asks to stop; approving ends its process and takes it out of the team\n" +
           claim("its reason", body);
  const std::string file = text_of(ask, "file");
  return "  " + asker + " asks for approval of a plan" + (file.empty() ? "" : " (" + file + ")") + "\n" +
         printable_block(body, "    | ");
}

/// Each part of a command, those marked that no rule covers.
std::string parts_of(const json::object& ask) {
  std::vector<config::PartVerdict> parts;
  for (const json::object* part : objects_of(ask, "parts"))
    parts.push_back({raw_text_of(*part, "part"), raw_text_of(*part, "rule"), raw_text_of(*part, "missing")});
  return handlers::parts_text(parts, "    ");
}

}  // namespace

std::string ask_name(const json::object& ask) { return text_of(ask, "kind") + ' ' + text_of(ask, "request_id"); }

std::string ask_identity(const json::object& ask) {
  std::string all;
  for (const char* name :
       {"team", "kind", "request_id", "member", "message_key", "subject", "tool", "file", "body", "description", "suggestions"})
    all += json::serialize(json::string(raw_text_of(ask, name))) + ' ';
  return all;
}

std::string ask_content(const json::object& ask) {
  const std::string asker = text_of(ask, "member");
  std::string suggestions = raw_text_of(ask, "suggestions");
  if (suggestions == "[]" || suggestions == "null") suggestions.clear();
  return "  team " + text_of(ask, "team") + '\n' + what_is_asked(ask, asker) +
         claim(asker + "'s description, not checked by anybody", raw_text_of(ask, "description")) +
         claim(asker + "'s suggestions, not applied by an approval", suggestions);
}

std::string ask_text(const json::object& ask, const std::string& when) {
  std::string reason = text_of(ask, "reason");
  const std::string cannot = text_of(ask, "answers_reason");
  // What the daemon put behind it is said below.
  const std::string said = "; " + handlers::verifies(text_of(ask, "member"), {{}, cannot});
  if (!can_be_answered(ask) && reason.ends_with(said)) reason.resize(reason.size() - said.size());
  return ask_content(ask) + (reason.empty() ? "" : "  why you are asked: " + reason + '\n') + parts_of(ask) +
         (can_be_answered(ask) ? "" : "  it cannot be answered from here: " + cannot + '\n') + "  asked " + when;
}

std::vector<json::object> answers_to(const std::vector<const json::object*>& asks, const json::object& words) {
  constexpr std::size_t most = 40'000;  // of 64 KiB
  std::vector<json::object> requests;
  std::size_t size = most;
  for (const json::object* ask : asks) {
    std::string id = raw_text_of(*ask, "message_key");  // the lead's own prompts have none
    if (id.empty()) id = raw_text_of(*ask, "request_id");
    size += id.size() + 3;
    if (size > most) {
      requests.push_back(words);
      requests.back()["shown"] = true;
      requests.back()["ids"] = json::array();
      size = id.size() + 3;
    }
    requests.back()["ids"].as_array().emplace_back(id);
  }
  return requests;
}

std::string answered_by_rules(const json::object& answer) {
  const auto asks = objects_of(answer, "answered");
  if (asks.empty()) return {};
  std::string text = asks.size() == 1 ? "1 open ask is answered by the rules as they are now:\n"
                                      : std::to_string(asks.size()) + " open asks are answered by the rules as they are now:\n";
  for (const json::object* ask : asks)
    text += "  " + text_of(*ask, "state") + ": " + ask_name(*ask) + " of " + text_of(*ask, "member") + " (" +
            text_of(*ask, "subject") + "), by " + text_of(*ask, "rule") + '\n';
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
      const auto strict = schema::parse_value(schema::strict_json(*value));  // 1e999 is not for every parser
      if (strict) (*ask)[name] = *strict;
    };
    add("input", "body", json::kind::object);
    add("suggested", "suggestions", json::kind::array);
  }
  return answer;
}

bool can_be_answered(const json::object& ask) {
  const std::string answers = raw_text_of(ask, "answers");  // of an open ask only
  return answers.empty() || answers == "count";
}

}  // namespace inbox_poller::poller::cli
