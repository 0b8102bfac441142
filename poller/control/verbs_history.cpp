// The verb `history`: messages as the ledger has them, also those that are in no inbox any more.
#include <boost/json/array.hpp>

#include "handlers/subject.hpp"
#include "handlers/text.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

constexpr std::size_t most_bytes = 400;  // of a text, unless all of it is wanted

/// With the text in place of the entry's bytes.
json::object history_view(const MessageRow& row, bool full) {
  json::object view = message_view(row);
  const std::string text = schema::make_parsable(row.disposition == Disposition::bad ? row.raw : row.message.text);
  view["timestamp"] = schema::make_parsable(row.message.timestamp);
  view["text"] = full ? text : std::string(handlers::beginning(text, most_bytes));
  view["is_cut"] = !full && text.size() > most_bytes;
  if (!full) view.erase("entry");
  return view;
}

}  // namespace

json::object Verbs::history(const Object& request) {
  const int limit = limit_of(request);
  const std::string key = text(request, "key");
  const MessageTable::Wanted wanted{text(request, "team"), text(request, "sender"), text(request, "type"),
                              number(request, "since_ms").value_or(0)};
  const auto rows =
      key.empty() ? services_.ledger.messages().latest(wanted, limit) : services_.ledger.messages().like(key, limit);
  if (!rows) return refuse(rows.error());
  const bool full = flag(request, "full") || !key.empty();
  json::array messages;
  for (const auto& row : *rows) {
    if (!wanted.team.empty() && row.team != wanted.team) continue;
    auto view = history_view(row, full);
    if (!row.request_id.empty()) {
      const auto asks = services_.ledger.asks().by_id(row.request_id);
      if (!asks) return refuse(asks.error());
      for (const auto& [team, ask] : *asks)
        if (ask.message == row.key) view["subject"] = schema::make_parsable(handlers::subject_of(ask));
    }
    messages.push_back(std::move(view));
  }
  return {{"ok", true}, {"messages", std::move(messages)}};
}

}  // namespace inbox_poller::poller
