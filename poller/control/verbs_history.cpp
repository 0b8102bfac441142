// The verb `history`: messages of the ledger, including those that are in no inbox any more.
#include <algorithm>

#include "handlers/permission.hpp"
#include "handlers/plan_approval.hpp"
#include "handlers/sandbox.hpp"
#include "handlers/stop.hpp"
#include "handlers/subject.hpp"
#include "handlers/text.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "schema/codec.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace {

constexpr std::size_t most_bytes = 400;  // of a text, unless the full text is requested

/// Converts a row with the text in place of the entry's bytes.
operations::SaidMessage history_view(const MessageRow& row, bool full) {
  const std::string text = schema::make_parsable(row.disposition == Disposition::malformed ? row.raw : row.message.text);
  operations::SaidMessage view{message_view(row), row.message.timestamp, text, !full && text.size() > most_bytes, {}, {}};
  if (full) return view;
  view.text = handlers::beginning(text, most_bytes);
  view.entry.reset();
  return view;
}

/// Converts an inter-node message; shows its bytes if `team` is not served.
operations::SaidMessage history_view(const NodeMailRow& mail, Team* team, bool full) {
  MessageRow row;
  row.team = mail.team;
  row.inbox = mail.inbox;
  row.sender = mail.sender;
  row.type = mail.type;
  row.key = mail.key;
  row.request_id = mail.request_id;
  row.received_ms = mail.created_ms;
  row.reason = mail.problem;
  row.raw = mail.entry;
  row.disposition = Disposition::malformed;
  if (team != nullptr && team->cluster() != nullptr)
    if (auto decoded = team->cluster()->mailbox().decode(mail.entry)) {
      row.message = std::move(decoded->message);
      row.disposition = Disposition::chat;
    }
  auto view = history_view(row, full);
  const auto say = [&](const auto& payload) {
    if constexpr (requires { handlers::draft_of(payload); })
      view.subject = handlers::subject_of(handlers::draft_of(payload));
  };
  std::visit(say, schema::decode_payload(row.message.text));
  view.disposition = "relayed";
  view.node_message = node_message_view(mail);
  return view;
}

/// Sorts oldest first and keeps at most `limit` of the newest.
operations::History in_order(std::vector<operations::SaidMessage> views, int limit) {
  std::ranges::stable_sort(views, {}, &operations::SaidMessage::received_ms);
  const auto most = std::min(views.size(), static_cast<std::size_t>(limit));
  views.erase(views.begin(), views.end() - static_cast<std::ptrdiff_t>(most));
  return {std::move(views)};
}

}  // namespace

Result<operations::History> Verbs::history(const arguments::History& request) {
  auto& ledger = services_.ledger;
  const int limit = limit_of(request);
  const auto& key = request.key;
  const MessageTable::Wanted wanted{request.team, request.sender, request.type, request.since_ms};
  TRY(const auto rows, key.empty() ? ledger.messages().latest(wanted, limit) : ledger.messages().like(key, limit));
  TRY(const auto mails, key.empty() ? ledger.node_mail().latest(wanted, limit) : ledger.node_mail().like(key, limit));
  const bool full = request.full || !key.empty();
  std::vector<operations::SaidMessage> views;
  for (const auto& row : rows) {
    if (!wanted.team.empty() && row.team != wanted.team) continue;
    auto view = history_view(row, full);
    if (!row.request_id.empty()) {
      TRY(const auto requests, ledger.requests().by_id(row.request_id));
      for (const auto& [team, one] : requests)
        if (one.message == row.key) view.subject = handlers::subject_of(one);
    }
    TRY(const auto mail, ledger.node_mail().like(row.key.value, 1));
    if (!mail.empty()) view.node_message = node_message_view(mail.front());
    views.push_back(std::move(view));
  }
  for (const auto& mail : mails) {
    if (!wanted.team.empty() && mail.team != wanted.team) continue;
    TRY(const bool is_message, ledger.messages().known(mail.key));
    if (!is_message) views.push_back(history_view(mail, served(mail.team).get(), full));
  }
  return in_order(std::move(views), limit);
}

}  // namespace inbox_poller::poller
