// The tables of the ledger's format, each described in a file of its own, and the format as a whole.
#pragma once

#include <array>
#include <boost/mp11/algorithm.hpp>
#include <string>
#include <vector>

#include "handlers/handler.hpp"
#include "handlers/shutdown.hpp"
#include "poller/ledger/rows.hpp"
#include "poller/ledger/table.hpp"

namespace inbox_poller::poller {

/// `PRAGMA application_id` ("InPo"), which distinguishes a ledger from other SQLite databases.
inline constexpr int ledger_application_id = 0x496e506f;
/// `PRAGMA user_version` of the format that this program writes.
inline constexpr int ledger_format = 8;

using handlers::RequestKind;
using handlers::RequestState;
using handlers::ShutdownState;

/// Without `none`, because such a message has no delivery.
template <>
inline constexpr std::array values_of<DeliveryState> = {DeliveryState::queued, DeliveryState::offered,
                                                        DeliveryState::delivered, DeliveryState::expired};

/// Returns true if one event of this kind leads from `before` to `after`.
template <class Event, class State>
bool one_event_leads(State before, State after) {
  bool leads = false;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Event>>(
      [&](auto one) { leads = leads || handlers::transition(before, one.value) == after; });
  return leads;
}

struct RequestRow {
  long long id = 0;
  std::string team;
  handlers::Request request;
};

struct ShutdownRow {
  long long id = 0;
  std::string team;
  handlers::Shutdown shutdown;
};

struct TeamLeadRow {
  std::string team;
  LeadRow lead;
};

struct TeamRosterRow {
  std::string team;
  RosterRow roster;
};

const Table<MessageRow>& messages_table();
const Table<MessageRow>& deliveries_table();  // the delivery columns of the same row
const Table<RequestRow>& requests_table();
const Table<OutboxRow>& outbox_table();
const Table<ShutdownRow>& shutdowns_table();
const Table<OrderRow>& orders_table();
const Table<MemberRow>& members_table();
const Table<SessionRule>& rules_table();
const Table<TeamLeadRow>& leads_table();
const Table<TeamRosterRow>& rosters_table();
const Table<HistoryRow>& history_table();

/// Lists every table and view of the format, in the order of their creation.
std::vector<TableText> described_tables();

/// A message with its delivery: its columns in `messages AS m` and `deliveries AS d`, and the reader of such a row.
const std::string& mail_columns();
Result<MessageRow> read_mail(const Database& database, const Statement& from);

/// Returns `[1,2,3]` for json_each, so that one statement can name any number of rows.
std::string json_list(const std::vector<long long>& ids);

}  // namespace inbox_poller::poller
