#include "poller/cluster/local_delivery.hpp"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>

#include "poller/context/message_life.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr int letters_at_once = 500;
constexpr std::chrono::milliseconds others_first{20};

}  // namespace

Status LocalDelivery::restore() {
  TRY(const auto rows, state_.context.ledger.node_mail().filed(state_.context.name));
  for (const auto& row : rows) {
    auto decoded = local_.decode(row.entry);
    if (!decoded) continue;
    if (decoded->message.timestamp.empty()) decoded->message.timestamp = schema::iso_timestamp(row.created_ms);
    const auto inbox = schema::inbox_name(row.inbox);
    const auto key = key_in_box(inbox, decoded->message);
    local_.track(inbox, key);
    filed_[inbox].push_back({row.id, key});
  }
  return Done{};
}

asio::awaitable<void> LocalDelivery::run(std::span<const ReadyBox> boxes, bool hold_lead) {
  std::vector<std::pair<std::string, std::string>> ours;  // inbox, owner
  for (const auto& one : boxes) {
    const auto owner = one.box == schema::inbox_name(state_.context.lead) ? state_.context.lead
                                                                          : state_.context.owner_of(one.box);
    if (!state_.is_elsewhere(owner)) {
      left_.erase(one.box);
      continue;
    }
    // A misspelled name has no owner; the team reports such an inbox.
    if (owner != state_.context.lead && state_.context.roster.find(owner) == nullptr) continue;
    if (!one.changed && !left_.contains(one.box)) continue;
    if (owner == state_.context.lead && hold_lead)
      left_.insert(one.box);
    else
      ours.emplace_back(one.box, owner);
  }
  for (auto& [box, owner] : ours) co_await take_out(box, owner);
  look_at_filed();
  put_in();
}

asio::awaitable<void> LocalDelivery::take_out(std::string box, std::string owner) {
  left_.insert(box);
  for (bool more = true; more;) {
    const auto batch = co_await local_.receive(box, Access::exclusive, letters_at_once);
    if (batch.state != BoxState::open) {
      if (batch.state == BoxState::missing) left_.erase(box);
      co_return;
    }
    auto disposals = accept(box, owner, batch.taken);
    if (!disposals) co_return state_.context.heard_of_ledger(disposals.error());
    const bool all = std::ranges::find(*disposals, Ack::requeue) == disposals->end();
    more = batch.more && all;
    if (!batch.taken.empty()) {
      // Committed: let send() go first, so that other nodes work while more is read here. The read flags can wait.
      const auto seen = state_.went.count();
      state_.work.raise();
      if (state_.trouble.empty()) co_await state_.went.wait(seen, others_first);
    }
    const auto settled = co_await local_.ack(box, *std::move(disposals));
    if (settled.put != WriteStatus::done || !all) co_return;
  }
  left_.erase(box);
}

Result<std::vector<Ack>> LocalDelivery::accept(const std::string& box, const std::string& owner,
                                              const std::vector<BoxMessage>& taken) {
  std::vector<Ack> disposals;
  if (taken.empty()) return disposals;
  auto& context = state_.context;
  TRY(const auto queued, context.ledger.node_mail().queued(context.name, MailDirection::out));
  auto room = static_cast<long long>(state_.settings.queued) - queued;
  const auto accept_all = [&](Tx& tx) -> Status {
    for (const auto& one : taken) {
      if (one.read) {  // read before, by another consumer
        disposals.push_back(Ack::skip);
      } else if (room <= 0) {
        disposals.push_back(Ack::requeue);
      } else {
        --room;
        TRY(accept_one(owner, one, tx));
        disposals.push_back(Ack::ack);
      }
    }
    return Done{};
  };
  TRY(context.commit(accept_all, CommitAs::fact));
  const bool full = room <= 0;
  if (full && state_.full.empty())
    context.telemetry.emit(Event::inbox_full,
                           {{"team", context.name},
                            {"inbox", box},
                            {"count", std::to_string(state_.settings.queued)},
                            {"reason", "cluster.queued: so much waits for other nodes that further mail stays in its inbox"}});
  state_.full = full ? "cluster.queued (" + std::to_string(state_.settings.queued) +
                           ") letters wait for other nodes: further mail stays in its inbox"
                     : "";
  return disposals;
}

Status LocalDelivery::accept_one(const std::string& owner, const BoxMessage& one, Tx& tx) {
  auto& context = state_.context;
  NodeMailRow row;
  row.team = context.name;
  row.node = state_.stream_for(owner);
  row.inbox = owner;
  row.key = one.key;
  row.entry = one.bytes;
  row.created_ms = context.clock.wall_ms();
  auto decoded = local_.decode(one.bytes);
  if (decoded && one.bytes.size() > longest_frame)
    decoded = Error{"limit.letter", "it is larger than what goes between nodes, " +
                                        std::to_string(longest_frame >> 20) + " MiB"};
  if (!decoded) {  // rejected; the row keeps its bytes
    row.state = NodeMailState::rejected;
    row.type = "malformed";
    row.problem = decoded.error().message;
  } else {
    const auto payload = schema::decode_payload(decoded->message.text);
    row.sender = schema::bare_name(decoded->message.from);
    row.type = schema::type_name(payload);
    row.request_id = schema::claimed_request_id(decoded->message.text);
    if (const auto* member = context.roster.find(row.sender); member != nullptr && row.node == lead_address)
      row.joined_ms = member->joined_at_ms;
  }
  TRY(const auto added, tx.ledger.node_mail().add(row));
  if (!added) return Done{};  // accepted before a crash
  auto fields = letter_fields(row);
  if (!decoded) {
    fields.emplace_back("reason", row.problem);
    tx.log(Event::replication_rejected, std::move(fields));
  } else if (row.request_id.empty()) {
    tx.log_told_by_row(Event::replication_queued, std::move(fields));
  } else {
    tx.log(Event::replication_queued, std::move(fields));
  }
  return Done{};
}

void LocalDelivery::put_in() {
  none_to_put_in_.check(state_.context.ledger.changes(), [&] {
    std::set<std::string> held;  // members: later messages to a held inbox must wait, other inboxes need not
    auto put = PutIn::more;
    while (put == PutIn::more) put = put_some_in(held);
    return put == PutIn::all;
  });
}

LocalDelivery::PutIn LocalDelivery::put_some_in(std::set<std::string>& held) {
  auto& context = state_.context;
  const auto held_before = held.size();
  const auto rows = context.ledger.node_mail().to_file(context.name, letters_at_once, held);
  if (!rows) {
    context.heard_of_ledger(rows.error());
    return PutIn::stuck;
  }
  std::vector<long long> done;
  std::vector<std::pair<long long, std::string>> bad;
  std::vector<std::pair<std::string, Filed>> filed;
  struct Letters {
    std::vector<const NodeMailRow*> rows;
    std::vector<schema::Message> messages;
  };
  std::map<std::string, Letters> waiting;  // by inbox: each is written once, and not once for each letter
  for (const auto& row : *rows) {
    const auto inbox = schema::inbox_name(row.inbox);
    if (held.contains(row.inbox)) continue;
    if (!state_.may_file(row)) {
      held.insert(row.inbox);
      continue;
    }
    // Lost after its shutdown was over, or late: the next worker of this name would read the request and end.
    if (const auto over = context.ledger.shutdowns().is_over(context.name, row.request_id); over && *over) {
      bad.emplace_back(row.id, "its shutdown is over");
      continue;
    }
    auto decoded = local_.decode(row.entry);
    if (!decoded) {
      bad.emplace_back(row.id, decoded.error().message);
      continue;
    }
    // Clients treat two messages without a timestamp as one. The row's time is stable, so a retry adds nothing.
    if (decoded->message.timestamp.empty()) decoded->message.timestamp = schema::iso_timestamp(row.created_ms);
    waiting[inbox].rows.push_back(&row);
    waiting[inbox].messages.push_back(std::move(decoded->message));
  }
  for (const auto& [inbox, letters] : waiting) {
    const auto receipts = local_.post(inbox, letters.messages);
    for (std::size_t i = 0; i < receipts.size(); ++i) {
      if (receipts[i].put != WriteStatus::done && receipts[i].put != WriteStatus::unchanged) {
        held.insert(letters.rows[i]->inbox);
        continue;
      }
      done.push_back(letters.rows[i]->id);
      filed.emplace_back(inbox, Filed{letters.rows[i]->id, key_in_box(inbox, letters.messages[i])});
    }
  }
  const auto now = context.clock.wall_ms();
  const auto put_there = [&](Tx& tx) {
    tx.keep(tx.ledger.node_mail().set(context.name, done, NodeMailState::there, now));
    for (const auto& [id, why] : bad) tx.keep(tx.ledger.node_mail().set(context.name, {id}, NodeMailState::rejected, now, why));
    tx.then([&] {
      for (auto& [inbox, one] : filed) filed_[inbox].push_back(std::move(one));
      if (!done.empty() || !bad.empty()) state_.work.raise();
    });
  };
  if (!context.commit(put_there, CommitAs::fact)) return PutIn::stuck;  // the next poll finds them already written
  if (rows->size() < letters_at_once) return held.empty() ? PutIn::all : PutIn::stuck;
  return held.size() > held_before ? PutIn::more : PutIn::stuck;
}

void LocalDelivery::look_at_filed() {
  auto& context = state_.context;
  std::vector<long long> read, lost;
  for (const auto& [inbox, list] : filed_)
    for (const auto& one : list) {
      const auto read_status = local_.read_status(inbox, one.key);
      if (read_status == ReadStatus::consumed) read.push_back(one.id);
      if (read_status == ReadStatus::lost) lost.push_back(one.id);
    }
  if (read.empty() && lost.empty()) return;
  const auto now = context.clock.wall_ms();
  const auto tell = [&](Tx& tx) {
    tx.keep(tx.ledger.node_mail().set(context.name, read, NodeMailState::read, now));
    tx.keep(tx.ledger.node_mail().set(context.name, lost, NodeMailState::waiting, now));
  };
  if (!context.commit(tell, CommitAs::fact)) return;
  for (auto& [inbox, list] : filed_)
    std::erase_if(list, [&, &name = inbox](const Filed& one) {
      if (local_.read_status(name, one.key) == ReadStatus::waiting) return false;
      local_.untrack(name, one.key);
      return true;
    });
  std::erase_if(filed_, [](const auto& box) { return box.second.empty(); });
  state_.work.raise();
}

schema::MessageKey LocalDelivery::key_in_box(const std::string& inbox, const schema::Message& message) const {
  return schema::make_message_key({state_.context.name, inbox}, message.from, message.timestamp, message.text, 0);
}

}  // namespace inbox_poller::poller
