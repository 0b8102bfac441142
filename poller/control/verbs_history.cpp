// The verb `history`: messages as the ledger has them, also those that are in no inbox any more.
#include <boost/json/array.hpp>

#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "schema/json_scan.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

constexpr std::size_t beginning = 400;  // bytes of a text, unless all of it is wanted

/// At most so many bytes, and no half character.
std::string cut(const std::string& text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = end + schema::code_point_at(text, end).length;
    if (next > beginning) break;
    end = next;
  }
  return text.substr(0, end);
}

/// With the text in place of the entry's bytes.
json::object history_view(const MessageRow& row, bool full) {
  json::object view = message_view(row);
  const std::string text = schema::make_parsable(row.disposition == Disposition::bad ? row.raw : row.message.text);
  view["timestamp"] = schema::make_parsable(row.message.timestamp);
  view["text"] = full ? text : cut(text);
  view["is_cut"] = !full && text.size() > beginning;
  if (!full) view.erase("entry");
  return view;
}

}  // namespace

json::object Verbs::history(const Object& request) {
  const int limit = limit_of(request);
  const std::string key = text(request, "key");
  const MessageTable::Wanted wanted{text(request, "team"), text(request, "from"), text(request, "type"),
                              number(request, "since_ms").value_or(0)};
  const auto rows =
      key.empty() ? services_.ledger.messages().latest(wanted, limit) : services_.ledger.messages().like(key, limit);
  if (!rows) return refuse(rows.error());
  const bool full = flag(request, "full") || !key.empty();
  json::array messages;
  for (const auto& row : *rows)
    if (wanted.team.empty() || row.team == wanted.team) messages.push_back(history_view(row, full));
  return {{"ok", true}, {"messages", std::move(messages)}};
}

}  // namespace inbox_poller::poller
