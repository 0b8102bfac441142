#include "poller/cluster/replicator.hpp"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>

#include "handlers/request_kind.hpp"
#include "handlers/shutdown.hpp"
#include "poller/context/message_life.hpp"
#include "poller/ledger/keys.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr int put_at_once = 512;
constexpr std::size_t received_at_once = 500;
constexpr std::chrono::seconds look_at_place_every{1};
constexpr EpochMs look_for_unheard_every_ms = 1'000;  // the query reads all rows under way
constexpr std::size_t shortened = 1024;  // bytes kept of a rejected entry that is too large
constexpr std::size_t most_refused_bytes = std::size_t{16} << 20;  // of one node, kept whole since the process started

std::vector<long long> ids_of(const std::vector<NodeMailRow>& rows, std::size_t count) {
  std::vector<long long> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(rows[i].id);
  return ids;
}

/// Marks the request of a local worker as read once its answer arrived, so that no later leader receives it.
/// A leader node does the same for its own worker's request that was answered before.
Status settle_request(const NodeState& state, NodeMailRow& row) {
  auto& table = state.context.ledger.node_mail();
  const auto& team = state.context.name;
  if (row.request_id.empty()) return Done{};
  if (row.lead) {
    if (row.node != state.settings.node) return Done{};
    TRY(const auto answer, table.answer_to(team, row.sender, row.request_id));
    if (answer) row.state = NodeMailState::read;
    return Done{};
  }
  if (!row.final) return Done{};
  TRY(const auto rows, table.of_request(row.request_id, 20));
  std::vector<long long> asked;
  for (const auto& one : rows) {
    const bool moves = one.state != NodeMailState::read && one.state != NodeMailState::rejected;
    if (one.team == team && one.direction == MailDirection::out && one.node == lead_address && one.sender == row.inbox && moves)
      asked.push_back(one.id);
  }
  return asked.empty() ? Status(Done{}) : table.set(team, asked, NodeMailState::read, row.created_ms);
}

}  // namespace

bool Replicator::failed(const Error& problem) {
  place_seen_.reset();
  state_.tell_trouble(problem, broker_.name());
  return false;
}

bool Replicator::ledger_failed(const Error& problem) {
  state_.context.heard_of_ledger(problem);
  return false;
}

asio::awaitable<bool> Replicator::look_at_place() {
  auto& table = state_.context.ledger.node_mail();
  auto found = co_await broker_.place();
  if (!found) co_return failed(found.error());
  auto known = table.place(state_.context.name);
  if (!known) co_return ledger_failed(known.error());
  place_seen_ = state_.context.clock.steady();
  if (known->place == *found) co_return true;
  const bool first = known->place.empty();
  known->place = *found;
  const auto recorded = state_.commit([&](Tx&) -> Status {
    TRY(table.set_place(*known));
    if (first) return Done{};
    TRY(table.put_all_again(state_.context.name, false, state_.context.clock.wall_ms()));
    return table.tell_all_again(state_.context.name);
  });
  if (!recorded) co_return ledger_failed(recorded.error());
  if (!first)
    state_.context.telemetry.emit(
        Event::cluster_recovered,
        {{"team", state_.context.name},
         {"reason", broker_.name() + " was restarted, replaced or emptied: what was not heard of is put again"}});
  co_return true;
}

Status Replicator::leader_changed(const std::string& leader, std::int64_t epoch) {
  if (heard_of_ == std::pair(leader, epoch)) return Done{};
  auto& table = state_.context.ledger.node_mail();
  TRY(auto known, table.place(state_.context.name));
  const bool same = known.leader == leader && known.epoch == epoch;
  // Also for the same node: another node may have led meanwhile without a heartbeat.
  const bool other = !known.leader.empty();
  known.leader = leader;
  known.epoch = std::max(known.epoch, epoch);
  const auto recorded = same ? Status(Done{}) : state_.commit([&](Tx&) {
    if (auto set = table.set_place(known); !set || !other) return set;
    return table.put_all_again(state_.context.name, true, state_.context.clock.wall_ms());
  });
  if (recorded) heard_of_ = {leader, epoch};
  return recorded;
}

asio::awaitable<bool> Replicator::send() {
  auto& table = state_.context.ledger.node_mail();
  const auto& team = state_.context.name;
  if (const auto now = state_.context.clock.wall_ms(); now - looked_for_unheard_ms_ >= look_for_unheard_every_ms) {
    const auto unheard = table.unheard(team, now);
    if (!unheard) co_return ledger_failed(unheard.error());
    for (const auto& stream : *unheard) {
      const auto again = state_.commit([&](Tx&) { return table.put_again(team, stream, now); });
      if (!again) co_return ledger_failed(again.error());
    }
    looked_for_unheard_ms_ = now;
  }
  const auto streams = table.streams(team, state_.leading());
  if (!streams) co_return ledger_failed(streams.error());
  if (!state_.receipts.told.empty() || !state_.receipts.ended.empty())
    if (auto written = state_.write_receipts(); !written) co_return ledger_failed(written.error());
  const auto nodes = table.nodes_to_tell(team);
  if (!nodes) co_return ledger_failed(nodes.error());
  if (streams->empty() && nodes->empty()) co_return true;
  // The broker may have been emptied under an open connection. The check finds that within 1 s; the rows are put again.
  if (!place_seen_ || state_.context.clock.steady() - *place_seen_ >= look_at_place_every)
    if (!co_await look_at_place()) co_return false;
  for (const auto& stream : *streams)
    if (!co_await send_stream(stream)) co_return false;
  for (const auto& node : *nodes)
    if (!co_await tell(node)) co_return false;
  state_.tell_trouble("");
  co_return true;
}

asio::awaitable<bool> Replicator::send_stream(std::string stream) {
  for (;;) {
    const auto leading = state_.leading();
    auto rows = state_.context.ledger.node_mail().waiting(state_.context.name, stream, leading, put_at_once);
    if (!rows) co_return ledger_failed(rows.error());
    if (rows->empty()) co_return true;
    // Keep the order: put one run of rows of the same kind at a time.
    const bool as_lead = rows->front().lead, answers = as_lead && rows->front().final;
    const auto end = std::ranges::find_if(*rows, [&](const NodeMailRow& row) {
      return row.lead != as_lead || (row.lead && row.final) != answers;
    });
    rows->erase(end, rows->end());
    if (as_lead && !state_.leading()) co_return true;
    auto going = answers ? answer(*std::move(rows)) : put(*std::move(rows));
    if (!co_await std::move(going)) co_return false;
  }
}

Result<std::vector<Frame>> Replicator::letters_of(const std::vector<NodeMailRow>& rows) const {
  std::vector<Frame> frames;
  long long after = 0;
  for (const auto& row : rows) {
    // The predecessor is not always the row before: a row in flight during put_all_again() was put since.
    if (frames.empty() || row.number != after + 1) {
      TRY(const auto put, state_.context.ledger.node_mail().after(state_.context.name, row.node, row.number));
      after = std::max(after, put);
    }
    auto& frame = frames.emplace_back();
    frame.address = row.node;
    frame.to = row.inbox;
    frame.from = row.sender;
    frame.type = row.type;
    const bool answers = row.lead && row.final;  // the worker chooses the id, so the id alone is not unique
    frame.request = answers ? row.inbox + "/" + row.request_id : row.request_id;
    frame.entry = row.entry;
    frame.key = row.key;
    frame.number = row.number;
    frame.after = after;
    frame.at_ms = row.created_ms;
    TRY(const auto order, row.type == schema::ShutdownRequest::type
                              ? state_.context.ledger.shutdowns().find(state_.context.name, row.request_id)
                              : std::optional<handlers::Shutdown>());
    frame.joined_ms = order ? order->joined_ms : row.joined_ms;
    frame.attempt = row.attempts;
    after = row.number;
  }
  return frames;
}

asio::awaitable<bool> Replicator::put(std::vector<NodeMailRow> rows) {
  auto& table = state_.context.ledger.node_mail();
  auto frames = letters_of(rows);
  if (!frames) co_return ledger_failed(frames.error());
  const auto epoch = rows.front().lead ? state_.lease.epoch : 0;
  for (const auto& row : rows) state_.under_way.insert(row.id);
  const auto outcomes = co_await broker_.put(*std::move(frames), epoch);
  state_.under_way.clear();
  state_.went.raise();
  if (!outcomes) co_return failed(outcomes.error());
  std::size_t done = 0;
  while (done < outcomes->size() && done < rows.size() && (*outcomes)[done].what != PutOutcome::What::fenced) ++done;
  const auto recorded = state_.commit([&](Tx&) {
    return table.set(state_.context.name, ids_of(rows, done), NodeMailState::put, state_.context.clock.wall_ms());
  });
  if (!recorded) co_return ledger_failed(recorded.error());
  if (done == rows.size()) co_return true;
  if (done < outcomes->size()) state_.fenced((*outcomes)[done].epoch);
  co_return false;
}

asio::awaitable<bool> Replicator::answer(std::vector<NodeMailRow> rows) {
  using What = AnswerOutcome::What;
  auto& table = state_.context.ledger.node_mail();
  const auto& team = state_.context.name;
  auto frames = letters_of(rows);
  if (!frames) co_return ledger_failed(frames.error());
  for (const auto& row : rows) state_.under_way.insert(row.id);
  const auto outcomes = co_await broker_.answer(*std::move(frames), state_.lease.epoch);
  state_.under_way.clear();
  if (!outcomes) co_return failed(outcomes.error());
  std::size_t done = 0;
  std::vector<long long> put;
  const auto recorded = state_.commit([&](Tx& tx) -> Status {
    const auto now = state_.context.clock.wall_ms();
    for (; done < outcomes->size() && done < rows.size() && (*outcomes)[done].what != What::fenced; ++done) {
      const auto& row = rows[done];
      const auto& outcome = (*outcomes)[done];
      if (outcome.what != What::other) {
        put.push_back(row.id);
        continue;
      }
      // Frames put after this one name a predecessor that never arrives. The receiver skips them; they are put again.
      const auto& other = outcome.other;
      const auto why = "node " + other.node + " had answered before, as leader " + std::to_string(other.epoch) +
                       "; that answer is put again";
      TRY(table.set(team, {row.id}, NodeMailState::rejected, now, why));
      tx.log(Event::replication_rejected, {{"team", team},
                                     {"inbox", row.inbox},
                                     {"type", row.type},
                                     {"request_id", row.request_id},
                                     {"message_key", row.key.value},
                                     {"reason", why}});
      TRY(pass_on(row.type, row.inbox, other, tx));
    }
    return table.set(team, put, NodeMailState::put, now);
  });
  if (!recorded) co_return ledger_failed(recorded.error());
  if (done == rows.size()) co_return true;
  if (done < outcomes->size()) state_.fenced((*outcomes)[done].epoch);
  co_return false;
}

Status Replicator::pass_on(const std::string& type, const std::string& worker, const FinalAnswer& answer, Tx& tx) {
  const auto decoded = decode_(answer.entry);
  if (!decoded) return Done{};  // its reader would reject it
  NodeMailRow row;
  row.team = state_.context.name;
  row.node = state_.stream_for(worker);
  row.inbox = worker;
  row.key = schema::make_message_key({row.team, schema::inbox_name(worker)}, decoded->from, decoded->timestamp,
                                     decoded->text, 0);
  row.sender = schema::bare_name(decoded->from);
  row.type = type;
  row.request_id = schema::claimed_request_id(decoded->text);
  row.entry = answer.entry;
  row.lead = row.final = true;
  row.created_ms = state_.context.clock.wall_ms();
  TRY(const auto added, tx.ledger.node_mail().add(row));
  if (added) tx.then([this] { state_.work.raise(); });
  return Done{};
}

asio::awaitable<bool> Replicator::receive(std::chrono::milliseconds wait) {
  auto& context = state_.context;
  auto& table = context.ledger.node_mail();
  const auto most = static_cast<long long>(state_.settings.queued);
  const auto queued = table.queued(context.name, MailDirection::in);
  if (!queued) co_return ledger_failed(queued.error());
  auto frames = co_await broker_.receive(state_.leading(), received_at_once, wait);
  if (!frames) co_return failed(frames.error());
  if (frames->empty()) co_return true;
  last_numbers_.clear();
  refused_now_ = refused_bytes_;
  const auto recorded = state_.commit([&](Tx& tx) -> Status {
    tx.then([this] { refused_bytes_ = refused_now_; });
    std::map<std::string, bool> has_room;  // by node
    for (const auto& frame : *frames) {
      if (*queued >= most && !has_room.contains(frame.node)) {
        TRY(const auto of_node, table.queued(context.name, MailDirection::in, frame.node));
        has_room[frame.node] = of_node < most;
      }
      // The sender's ledger keeps the frame and puts it again. Other nodes and receipts do not wait for it.
      if (*queued >= most && !has_room[frame.node] && !frame.to.empty()) continue;
      TRY(take(frame, tx));
    }
    return Done{};
  });
  if (!recorded) co_return ledger_failed(recorded.error());
  // Frames for the lead that arrived after the lease ended stay unacknowledged, for the next leader.
  std::erase_if(*frames, [&](const ReceivedFrame& frame) { return !is_for_us(frame); });
  arrived();
  state_.work.raise();
  if (auto done = co_await broker_.acknowledge(*std::move(frames)); !done) co_return failed(done.error());
  co_return true;
}

bool Replicator::is_for_us(const ReceivedFrame& frame) const {
  return frame.address != lead_address || state_.leading();
}

Status Replicator::take(const ReceivedFrame& frame, Tx& tx) {
  if (!is_for_us(frame)) return Done{};
  if (frame.key.value.empty() || !key_range(frame.key.value)) {
    tx.log(Event::replication_rejected, {{"team", state_.context.name},
                                   {"node", frame.node},
                                   {"reason", "a letter of node " + frame.node + "'s key is missing"}});
    return Done{};
  }
  return frame.to.empty() ? take_receipt(frame, tx) : keep(frame, tx);
}

/// True if this node answered the request while it led. Errors: "ledger.*".
Result<bool> Replicator::decided_here(const NodeMailRow& row) const {
  const auto* kind = handlers::kind_answered_by(row.type);
  if (kind == nullptr) return false;
  TRY(const auto request,
      state_.context.ledger.requests().find(state_.context.name, {kind->kind, row.inbox, row.request_id}));
  using handlers::RequestState;
  return request &&
         (request->state == RequestState::approved || request->state == RequestState::denied || request->state == RequestState::expired);
}

Result<std::optional<handlers::Refused>> Replicator::examine(const ReceivedFrame& frame, NodeMailRow& row) const {
  using Refusal = std::optional<handlers::Refused>;
  const auto& context = state_.context;
  row.sender = frame.from.substr(0, 200);
  row.type = "malformed";
  row.entry = frame.entry;
  if (frame.entry.size() > context.config.limits.inbox_file.count) {
    row.entry.resize(shortened);
    return Refusal(handlers::Refused{"limit.letter", "it is larger than limits.inbox_file"});
  }
  const auto message = decode_(frame.entry);
  if (!message) return Refusal(handlers::Refused{message.error().code, message.error().message});
  const auto payload = schema::decode_payload(message->text);
  row.sender = schema::bare_name(message->from);
  row.type = schema::type_name(payload);
  row.request_id = schema::claimed_request_id(message->text);
  if (row.request_id.empty() && !row.lead) row.request_id = handlers::reminded_order(message->text);  // goes with its order
  row.final = handlers::is_final_answer(payload) && !row.request_id.empty();
  if (row.lead)
    row.unproven = row.key != schema::make_message_key({context.name, schema::inbox_name(context.lead)}, message->from,
                                                       message->timestamp, message->text, schema::occurrence_of(row.key));
  if (auto why = handlers::refusal_of(state_.settings, {frame.node, frame.to, message->from, payload}, context.lead,
                                      state_.leading()))
    return Refusal(std::move(why));
  if (!row.lead && context.roster.find(frame.to) == nullptr)
    return Refusal(handlers::Refused{"node.nobody", "\"" + row.inbox + "\" is not a member in this node's roster"});
  if (!row.final || row.lead) return Refusal();
  TRY(auto before, context.ledger.node_mail().answer_to(context.name, row.inbox, row.request_id));
  if (before && before->entry == row.entry) {  // another leader passed it on: one copy is enough
    row.state = NodeMailState::read;
    return Refusal();
  }
  TRY(const auto here, decided_here(row));
  if (!before && !here) return Refusal();
  return Refusal(handlers::Refused{"answer.second", "another answer to " + row.request_id + " came before, and is final"});
}

Status Replicator::take_up(const NodeMailRow& frame) {
  auto& ledger = state_.context.ledger;
  if (!frame.lead || frame.state == NodeMailState::rejected) return Done{};
  const auto key = journal_key(frame);
  TRY(ledger.deliveries().take_up(key, frame.sender));
  if (frame.attempts == 0) return Done{};
  TRY(const auto met, ledger.messages().known(key));
  return ledger.node_mail().take_up(frame.id, met ? NodeMailState::there : NodeMailState::waiting,
                                    state_.context.clock.wall_ms());
}

Status Replicator::keep(const ReceivedFrame& frame, Tx& tx) {
  auto& table = tx.ledger.node_mail();
  const auto& team = state_.context.name;
  NodeMailRow row;
  row.team = team;
  row.direction = MailDirection::in;
  row.node = frame.node;
  row.inbox = frame.to.substr(0, 200);
  row.key = frame.key;
  row.number = frame.number;
  row.created_ms = state_.context.clock.wall_ms();
  row.joined_ms = frame.joined_ms;
  row.lead = frame.address == lead_address;
  const auto [last, is_first] = last_numbers_.try_emplace({row.node, row.lead});
  if (is_first) {
    TRY(const auto found, table.last_number(team, row.node, row.lead));
    last->second = found;
  }
  const auto put_again = [&]() -> Result<bool> {
    TRY(const auto known, table.find(team, MailDirection::in, row.node, row.inbox, row.key));
    if (!known) return false;
    TRY(take_up(*known));
    const auto told = table.tell({known->id}, 0);  // our receipt did not arrive
    return told ? Result<bool>(true) : Result<bool>(told.error());
  };
  if (row.lead) {  // an older one went to another leader and is not settled: its sender puts both again
    TRY(table.settled_elsewhere(team, row.node, frame.after, frame.number, row.created_ms));
    TRY(const auto is_to_come, table.is_handed_over(team, row.node, frame.after));
    if (is_to_come) return Done{};
  }
  if (frame.number <= last->second || frame.after > last->second) {  // any other frame is new here
    TRY(const auto known, put_again());
    if (known) return Done{};
  }
  if (frame.after > last->second) return Done{};  // the frame before it is lost or late
  TRY(auto refused, examine(frame, row));
  if (refused) {
    row.state = NodeMailState::rejected;
    row.problem = refused->code + ": " + refused->reason;
    if (refused_now_[row.node] >= most_refused_bytes)
      row.entry.resize(std::min(row.entry.size(), shortened));
    else
      refused_now_[row.node] += row.entry.size();
  } else {
    if (row.lead && frame.attempt > 0) row.problem = may_be_repeat;
    TRY(take_up(row));
    TRY(settle_request(state_, row));
  }
  TRY(const auto added, table.add(row));
  if (!added) {
    const auto known = put_again();
    return known ? Status(Done{}) : Status(known.error());
  }
  last->second = std::max(last->second, row.number);
  auto fields = letter_fields(row);
  if (refused) {
    fields.emplace_back("code", refused->code);
    fields.emplace_back("reason", refused->reason);
    tx.log(Event::replication_rejected, std::move(fields));
  } else if (row.request_id.empty()) {
    tx.log_told_by_row(Event::replication_received, std::move(fields));
  } else {
    tx.log(Event::replication_received, std::move(fields));
  }
  return Done{};
}

}  // namespace inbox_poller::poller
