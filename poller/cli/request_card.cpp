#include "poller/cli/request_card.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <span>

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

std::string what_is_asked(const operations::Request& request, const operations::Text& folder,
                          const std::string& asker) {
  const std::string& kind = request.kind.bytes;
  const std::string& body = request.body.bytes;
  if (kind == "permission") {
    return "  " + asker + " asks to use " + printable(request.tool) + " with\n" +
           handlers::input_text(printable(request.tool), body, "    ", "    | ") +
           (folder.empty() ? "" : "  its folder: " + printable(folder) + '\n');
  }
  if (kind == "sandbox")
    return "  " + asker + " asks to reach the host\n" + printable_block(body.empty() ? request.subject.bytes : body, "    | ");
  if (kind == "stop")
    return "  " + asker + " asks to stop; approving ends its process and takes it out of the team\n" +
           claim("its reason", body);
  const std::string file = printable(request.file);
  return "  " + asker + " asks for approval of a plan" + (file.empty() ? "" : " (" + file + ")") + "\n" +
         printable_block(body, "    | ");
}

/// Formats the parts of a command; the parts that no rule covers are marked.
std::string parts_of(const operations::OpenRequest& request) {
  std::vector<config::PartVerdict> parts;
  for (const auto& part : request.parts) parts.push_back({part.part.bytes, part.rule.bytes, part.missing.bytes});
  return handlers::parts_text(parts, "    ");
}

}  // namespace

std::string request_identity(const operations::OpenRequest& request) {
  std::string all;
  for (const operations::Text* field :
       {&request.team, static_cast<const operations::Text*>(&request.kind), &request.request_id, &request.member,
        &request.message_key, &request.subject, &request.tool, &request.file, &request.body, &request.description,
        &request.suggestions})
    all += json::serialize(json::string(field->bytes)) + ' ';
  return all;
}

std::string request_content(const operations::Request& request, const operations::Text& folder) {
  const std::string asker = printable(request.member);
  std::string suggestions = request.suggestions.bytes;
  if (suggestions == "[]" || suggestions == "null") suggestions.clear();
  return "  team " + printable(request.team) + '\n' + what_is_asked(request, folder, asker) +
         claim(asker + "'s description, not checked by anybody", request.description.bytes) +
         claim(asker + "'s suggestions, not applied by an approval", suggestions);
}

std::string request_text(const operations::OpenRequest& request, const std::string& when) {
  std::string reason = printable(request.reason);
  const std::string cannot = printable(request.answers_reason);
  // The daemon appended this text to the reason; request_text() prints it on a line of its own.
  const std::string said = "; " + handlers::verifies(printable(request.member), {{}, cannot});
  if (!can_be_answered(request) && reason.ends_with(said)) reason.resize(reason.size() - said.size());
  return request_content(request, request.folder) + (reason.empty() ? "" : "  why you are asked: " + reason + '\n') +
         parts_of(request) + (can_be_answered(request) ? "" : "  it cannot be answered from here: " + cannot + '\n') +
         "  asked " + when;
}

std::vector<arguments::Strings> ids_of(const std::vector<const operations::OpenRequest*>& requests) {
  constexpr std::size_t most = 40'000;  // bytes, of the 64 KiB of a request
  std::vector<arguments::Strings> lists;
  std::size_t size = most;
  for (const auto* request : requests) {
    std::string id = request->message_key.bytes;  // empty for the lead's own prompts
    if (id.empty()) id = request->request_id.bytes;
    size += id.size() + 3;
    if (size > most) {
      lists.emplace_back();
      size = id.size() + 3;
    }
    lists.back().push_back(std::move(id));
  }
  return lists;
}

std::string answered_by_rules(const std::vector<operations::RuledRequest>& requests) {
  if (requests.empty()) return {};
  std::string text = requests.size() == 1 ? "1 open request is answered by the rules as they are now:\n"
                                      : std::to_string(requests.size()) + " open requests are answered by the rules as they are now:\n";
  for (const auto& request : std::span(requests).first(std::min(requests.size(), most_listed)))
    text += "  " + printable(request.state) + ": " + request_name(request) + " of " + printable(request.member) + " (" +
            printable(request.subject) + "), by " + printable(request.rule) + '\n';
  if (requests.size() > most_listed)
    text += "  and " + std::to_string(requests.size() - most_listed) + " more: inbox-poller decisions\n";
  return text;
}

json::object with_values(json::object answer, std::string_view list) {
  json::value* const requests = answer.if_contains(list);
  if (requests == nullptr || !requests->is_array()) return answer;
  for (json::value& one : requests->get_array()) {
    json::object* const request = one.if_object();
    if (request == nullptr || raw_text_of(*request, "kind") != "permission") continue;
    const auto add = [&](const char* name, const char* text, json::kind kind) {
      const auto value = schema::parse_value(raw_text_of(*request, text));
      if (!value || value->kind() != kind) return;
      const auto strict = schema::parse_value(schema::strict_json(*value));  // not every parser accepts 1e999
      if (strict) (*request)[name] = *strict;
    };
    add("input", "body", json::kind::object);
    add("suggested", "suggestions", json::kind::array);
  }
  return answer;
}

bool can_be_answered(const operations::OpenRequest& request) {
  return request.answers.empty() || request.answers == "count";
}

}  // namespace inbox_poller::poller::cli
