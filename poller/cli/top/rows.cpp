#include "poller/cli/top/rows.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

struct PageText {
  std::string_view name, verb, list;
  std::initializer_list<const char*> words;  // what a filter looks in
};
const PageText page_texts[] = {
    {"asks", "pending", "asks", {"request_id", "team", "member", "kind", "subject", "message_key"}},
    {"teams", "status", "teams", {"team", "role"}},
    {"workers", "status", "teams", {"team", "member", "doing", "task", "detail", "mode"}},
    {"chat", "history", "messages", {"team", "sender", "type", "text", "delivery", "message_key"}},
    {"log", "decisions", "decisions", {"team", "member", "kind", "state", "decided_by", "subject", "rule", "request_id"}}};

const PageText& text_on(TopPage page) { return page_texts[static_cast<std::size_t>(page)]; }

std::string aged_count(long long count, long long oldest_ms, long long now) {
  if (count == 0) return "-";
  return std::to_string(count) + (oldest_ms == 0 ? "" : " (" + span_text(now - oldest_ms) + ')');
}

std::string list_of_words(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return or_dash(text);
}

std::string workers_on(const TeamLine& line) {
  std::vector<std::string> words;
  for (const auto& [doing, count] : line.workers)
    if (doing != "gone") words.push_back(std::to_string(count) + ' ' + printable(doing));
  return list_of_words(words);
}

ListRow row_of(TopPage page, json::object object) {
  ListRow row;
  for (const char* name : text_on(page).words) row.words += folded(text_of(object, name)) + '\n';
  if (page == TopPage::asks)
    row.id = ask_identity(object);
  else if (page == TopPage::teams)
    row.id = raw_text_of(object, "team");
  else if (page == TopPage::workers)
    row.id = raw_text_of(object, "team") + '\n' + raw_text_of(object, "member");
  else
    row.id = raw_text_of(object, "team") + '\n' + raw_text_of(object, "kind") + '\n' +
             raw_text_of(object, "member") + '\n' + raw_text_of(object, "request_id") + '\n' + raw_text_of(object, "message_key");
  row.object = std::move(object);
  return row;
}

/// Whatever an object holds, a line a member.
std::string members_text(const json::object& object) {
  std::string text;
  for (const auto& [name, value] : object) {
    const std::string title = "  " + printable(std::string(name)) + ": ";
    if (name.ends_with("_ms") && value.is_int64())
      text += title + (value.get_int64() == 0 ? "-" : time_text(value.get_int64())) + '\n';
    else if (value.is_string())
      text += title + printable(std::string(value.get_string())) + '\n';
    else
      text += title + printable(json::serialize(value)) + '\n';
  }
  return text;
}

}  // namespace

std::string_view name_of(TopPage page) { return text_on(page).name; }
std::string_view verb_of(TopPage page) { return text_on(page).verb; }

std::vector<ListRow> rows_of(TopPage page, const json::object& answer) {
  std::vector<ListRow> rows;
  for (const json::object* one : objects_of(answer, text_on(page).list)) {
    if (page != TopPage::workers) {
      rows.push_back(row_of(page, *one));
      continue;
    }
    for (const json::object* member : objects_of(*one, "members")) {
      if (!flag_of(*member, "present")) continue;
      json::object worker = *member;
      worker["team"] = raw_text_of(*one, "team");
      rows.push_back(row_of(page, std::move(worker)));
    }
  }
  if (page == TopPage::asks)
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return number_of(a.object, "asked_ms") < number_of(b.object, "asked_ms");
    });
  if (page == TopPage::chat) std::reverse(rows.begin(), rows.end());  // the last first
  return rows;
}

Row heads_of(TopPage page) {
  switch (page) {
    case TopPage::asks: return {"ID", "AGE", "TEAM", "MEMBER", "KIND", "SUBJECT"};
    case TopPage::teams: return {"TEAM", "ROLE", "LEAD", "ASKS", "CHAT", "WORKERS", "TROUBLE"};
    case TopPage::workers: return {"NAME", "TEAM", "DOING", "SEEN", "MODE", "TASK"};
    case TopPage::chat: return {"AGE", "TEAM", "FROM", "STATE", "TEXT"};
    case TopPage::log: break;
  }
  return {"AGE", "TEAM", "MEMBER", "KIND", "STATE", "BY", "SUBJECT"};
}

Row cells_of(TopPage page, const json::object& object, long long now) {
  const auto age = [&](const char* name) { return span_text(now - number_of(object, name)); };
  switch (page) {
    case TopPage::asks:
      return {text_of(object, "request_id"), age("asked_ms"),         text_of(object, "team"),
              text_of(object, "member"),     text_of(object, "kind"), text_of(object, "subject")};
    case TopPage::teams: {
      const TeamLine line = team_line(object);
      return {line.team,
              line.role.empty() ? "leader" : line.role,
              text_of(object_of(object, "lead"), "state"),
              aged_count(line.asks, line.oldest_ask_ms, now),
              aged_count(line.chat, line.oldest_chat_ms, now),
              workers_on(line),
              list_of_words(line.trouble)};
    }
    case TopPage::workers:
      return {text_of(object, "member"),
              text_of(object, "team"),
              text_of(object, "doing"),
              number_of(object, "last_seen_ms") == 0 ? "-" : age("last_seen_ms"),
              or_dash(text_of(object, "mode")),
              or_dash(text_of(object, "task").empty() ? text_of(object, "detail") : text_of(object, "task"))};
    case TopPage::chat: {
      const std::string subject = text_of(object, "subject");
      return {age("received_ms"), text_of(object, "team"), text_of(object, "sender"),
              text_of(object, "delivery") == "none" ? text_of(object, "disposition") : text_of(object, "delivery"),
              subject.empty() ? text_of(object, "text") : subject};
    }
    case TopPage::log: break;
  }
  return {age("decided_ms"),      text_of(object, "team"),       text_of(object, "member"), text_of(object, "kind"),
          text_of(object, "state"), text_of(object, "decided_by"), text_of(object, "subject")};
}

std::string text_behind(TopPage page, const json::object& object) {
  const auto asked = [&] { return time_text(number_of(object, "asked_ms")); };
  if (page == TopPage::asks) return ask_name(object) + ask_text(object, asked()) + '\n';
  if (page == TopPage::log) return ask_name(object) + ' ' + request_sentence(object) + '\n' + ask_text(object, asked()) + '\n';
  if (page == TopPage::chat) {
    json::object rest = object;
    rest.erase("text");
    return printable_block(raw_text_of(object, "text"), "    | ") + members_text(rest);
  }
  return members_text(object);
}

}  // namespace inbox_poller::poller::cli
