#include "poller/context/tx.hpp"

#include "poller/context/message_life.hpp"
#include "poller/context/team_state.hpp"

namespace inbox_poller::poller {
namespace {

/// Number of commits whose `then` functions run now: none, or one of this thread.
thread_local int followed = 0;

struct Following {
  Following() { ++followed; }
  ~Following() { --followed; }
};

}  // namespace

Tx::Tx(TeamState& context) : team(context), ledger(context.ledger) {}

void Tx::log(Event event, Fields fields) {
  if (!so_far_) return;
  if (auto row = history_line(event, fields, team.clock.wall_ms()); !row.message_key.empty() || !row.request_id.empty())
    keep(ledger.history().add(row));
  lines_.push_back({event, std::move(fields)});
}

void Tx::post(const std::vector<handlers::Post>& posts, const std::string& request_id, long long batch) {
  for (const auto& post : posts) {
    if (!so_far_) return;
    const auto now = team.clock.wall_ms();
    keep(ledger.outbox().enqueue({.team = team.name,
                                  .batch = batch,
                                  .inbox = post.inbox,
                                  .key = post.key,
                                  .message = post.message,
                                  .request_id = request_id,
                                  .created_ms = now,
                                  .next_ms = now}));
  }
}

Result<MessageRow> Tx::notify_lead(const LeadNotice& word) {
  if (!so_far_) return so_far_.error();
  TRY(const auto batch, ledger.next_batch());
  MessageRow row;
  row.team = team.name;
  row.inbox = team.lead;
  row.key = word.notice.key;
  row.sender = word.sender;
  row.type = word.type;
  row.message = word.notice.message;
  row.disposition = Disposition::chat;
  row.request_id = word.request_id;
  row.received_ms = team.clock.wall_ms();
  row.message.timestamp = schema::iso_timestamp(row.received_ms);
  row.batch = batch;
  row.delivery = word.delivery;
  row.reason = word.reason;
  row.priority = word.priority;
  TRY(const auto inserted, ledger.messages().insert(row));
  row.id = inserted;
  log(Event::message_accepted, accepted_fields(row));
  return row;
}

Status Tx::fill(const Work& work, CommitAs as) {
  if (as == CommitAs::decision) TRY(team.may_commit());
  keep(work(*this));
  return so_far_;
}

Status Tx::attempt(const Work& part, CommitAs as) {
  if (!so_far_) return so_far_;
  const auto lines = lines_.size(), follows = follows_.size();
  Status outcome = Done{};
  so_far_ = ledger.attempt([&] { return fill(part, as); }, outcome);  // the errors of the part stay in the part
  if (outcome && so_far_) return Done{};
  lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(lines), lines_.end());
  follows_.resize(follows);
  return so_far_ ? outcome : so_far_;
}

void Tx::committed() {
  team.telemetry.emit(lines_);
  const Following following;
  for (const auto& follow : follows_) follow();
}

void commit_together(Ledger& ledger, std::span<Unit> units) {
  const auto run_all = [&]() -> Status {
    if (followed > 0) return Error{"ledger.sql", "a transaction within what follows a commit; this is a mistake of ours"};
    if (units.size() == 1) return units.front().fill();
    for (Unit& unit : units) TRY(ledger.attempt([&] { return unit.fill(); }, unit.status));
    return Done{};
  };
  const auto committed = ledger.transaction(run_all);
  for (Unit& unit : units) {
    if (!committed) unit.status = committed;
    unit.tx.team.heard_of_ledger(unit.status);
    if (unit.status) unit.committed();
  }
}

}  // namespace inbox_poller::poller
