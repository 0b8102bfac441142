#include "poller/cluster/cluster_mailbox.hpp"

#include <algorithm>

#include "handlers/nodes.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::size_t few = 100;  // rows in the journal; fewer wait for a later transaction

}  // namespace

std::optional<std::string> ClusterMailbox::letters_of(const std::string& box) const {
  const auto prefix = schema::inbox_name(state_.context.lead) + "@";
  return box.starts_with(prefix) ? std::optional(box.substr(prefix.size())) : std::nullopt;
}

bool ClusterMailbox::is_elsewhere(const std::string& inbox) const {
  const bool of_lead = inbox == schema::inbox_name(state_.context.lead);
  return state_.is_elsewhere(of_lead ? state_.context.lead : state_.context.owner_of(inbox));
}

std::vector<std::string> ClusterMailbox::lead_boxes() {
  std::vector<std::string> boxes;
  if (!state_.leading()) return boxes;
  const auto nodes = state_.context.ledger.node_mail().nodes_with_mail_for_lead(state_.context.name);
  if (nodes)
    for (const auto& node : *nodes) boxes.push_back(schema::inbox_name(state_.context.lead) + "@" + node);
  return boxes;
}

Result<std::span<const ReadyBox>> ClusterMailbox::ready_boxes() {
  is_idle_ = false;
  TRY(const auto local, local_.ready_boxes());
  here_.assign(local.begin(), local.end());
  const auto before = std::exchange(ready_, {});
  for (const auto& one : here_)
    if (!is_elsewhere(one.box)) ready_.push_back(one);
  for (const auto& inbox : posted_)
    if (is_elsewhere(inbox)) ready_.push_back({inbox, heard_});
  heard_ = false;
  std::ranges::sort(ready_, {}, &ReadyBox::box);
  is_idle_ = local_.is_idle() && std::ranges::equal(ready_, before, [](const ReadyBox& now, const ReadyBox& then) {
    return now.box == then.box && !now.changed && !then.changed;
  });
  return std::span<const ReadyBox>(ready_);
}

asio::awaitable<Batch> ClusterMailbox::receive(std::string box, Access reader, std::size_t most) {
  const auto node = letters_of(box);
  if (!node && is_elsewhere(box)) {  // a remote inbox has nothing to read, only the status of our posts
    Batch batch;
    batch.state = BoxState::open;
    co_return batch;
  }
  if (!node) co_return co_await local_.receive(std::move(box), reader, most);
  Batch batch;
  auto& shown = shown_[box];
  const auto& receipts = state_.receipts.there;
  auto rows = state_.context.ledger.node_mail().for_lead(state_.context.name, *node, shown.behind,
                                                         static_cast<int>(most + shown.left.size() + receipts.size()) + 1);
  if (!rows) {
    batch.state = BoxState::fault;
    batch.detail = rows.error().message;
    co_return batch;
  }
  std::erase_if(*rows, [&](const NodeMailRow& row) {
    return shown.left.contains(row.id) || receipts.contains(row.id);
  });
  rows->erase(std::ranges::find_if(*rows, [&](const NodeMailRow& row) { return is_early(row); }), rows->end());
  batch.state = BoxState::open;
  batch.more = rows->size() > most;
  if (batch.more) rows->resize(most);
  shown.rows = *std::move(rows);
  for (const auto& row : shown.rows)
    batch.taken.push_back({journal_key(row), row.entry, false, row.problem == may_be_repeat, row.joined_ms});
  batch.size.entries = batch.size.unread = shown.rows.size();
  co_return batch;
}

asio::awaitable<Settled> ClusterMailbox::ack(std::string box, std::vector<Ack> disposals) {
  const auto node = letters_of(box);
  if (!node && is_elsewhere(box)) co_return Settled{};
  if (!node) co_return co_await local_.ack(std::move(box), std::move(disposals));
  auto& shown = shown_[box];
  Settled settled;
  bool again = false;
  for (std::size_t i = 0; i < std::min(disposals.size(), shown.rows.size()); ++i) {
    again = again || disposals[i] == Ack::requeue;
    if (disposals[i] == Ack::skip) shown.left.insert(shown.rows[i].id);
    if (disposals[i] != Ack::ack) continue;
    state_.receipts.there.insert(shown.rows[i].id);
    ++settled.consumed;
  }
  if (state_.receipts.there.size() >= few)
    if (auto written = state_.write_receipts(); !written) {
      settled.put = WriteStatus::fault;
      settled.detail = written.error().message;
      co_return settled;
    }
  // A requeued message is returned by the next pass; the rows after the last one still by this pass.
  shown.behind = again && !shown.rows.empty() ? shown.rows.back().id : 0;
  if (shown.rows.empty()) shown.behind = 0;
  co_return settled;
}

void ClusterMailbox::rewind(const std::string& box) {
  if (!letters_of(box) && !is_elsewhere(box)) return local_.rewind(box);
  shown_.erase(box);
}

std::function<bool(const schema::MessageKey&)> ClusterMailbox::referenced(const std::string& box) const {
  // `node_mail` keeps the key of a message for as long as the message may be sent again.
  return [this, local = local_.referenced(box)](const schema::MessageKey& key) {
    if (local(key)) return true;
    const auto rows = state_.context.ledger.node_mail().like(key.value, 1);
    return !rows || !rows->empty();
  };
}

bool ClusterMailbox::is_early(const NodeMailRow& row) const {
  const auto sender = state_.context.members.find(row.sender);
  if (row.node == state_.settings.node || (sender != state_.context.members.end() && sender->second.present)) return false;
  const auto seen = state_.seen.find(row.node);
  const auto heard = seen == state_.seen.end() ? EpochMs(0) : seen->second.heard_ms;
  return handlers::waits_for_heartbeat(row.created_ms, heard, state_.context.clock.wall_ms());
}

NodeMailRow ClusterMailbox::row_of(const std::string& inbox, const schema::Message& message) const {
  auto& context = state_.context;
  const auto payload = schema::decode_payload(message.text);
  NodeMailRow row;
  row.team = context.name;
  row.inbox = context.owner_of(inbox);
  row.node = state_.stream_for(row.inbox);
  row.key = schema::make_message_key({context.name, inbox}, message.from, message.timestamp, message.text, 0);
  row.sender = schema::bare_name(message.from);
  row.type = schema::type_name(payload);
  row.request_id = schema::claimed_request_id(message.text);
  row.entry = local_.encode(message);
  row.lead = row.sender == context.lead && !std::holds_alternative<schema::PlainText>(payload);  // chat needs no lease
  row.final = handlers::is_final_answer(payload) && !row.request_id.empty();
  row.created_ms = context.clock.wall_ms();
  return row;
}

std::vector<WriteReceipt> ClusterMailbox::post(const std::string& inbox, std::span<const schema::Message> messages) {
  if (!is_elsewhere(inbox)) return local_.post(inbox, messages);
  const std::string where = "for node " + std::string(handlers::node_of(state_.settings, state_.context.owner_of(inbox)));
  std::vector<WriteReceipt> results;
  const auto queue = [&](Tx& tx) -> Status {
    for (const schema::Message& message : messages) {
      TRY(const auto added, tx.ledger.node_mail().add(row_of(inbox, message)));
      results.push_back({added ? WriteStatus::done : WriteStatus::unchanged, where});
    }
    return Done{};
  };
  if (const auto committed = state_.context.commit(queue, CommitAs::fact); !committed) return std::vector<WriteReceipt>(messages.size(), {WriteStatus::fault, committed.error().message});
  posted_.insert(inbox);
  if (std::ranges::any_of(results, [](const WriteReceipt& one) { return one.put == WriteStatus::done; })) state_.work.raise();
  return results;
}

void ClusterMailbox::track(const std::string& inbox, const schema::MessageKey& key) {
  if (!is_elsewhere(inbox)) return local_.track(inbox, key);
  posted_.insert(inbox);
  heard_ = true;
}

ReadStatus ClusterMailbox::read_status(const std::string& inbox, const schema::MessageKey& key) const {
  if (!is_elsewhere(inbox)) return local_.read_status(inbox, key);
  const auto row = state_.context.ledger.node_mail().sent(state_.context.name, state_.context.owner_of(inbox), key);
  if (!row || !*row) return ReadStatus::waiting;
  // The other node rejected the message, so its member never reads it. The rejection was logged when it arrived.
  return (*row)->state == NodeMailState::read || (*row)->state == NodeMailState::rejected ? ReadStatus::consumed : ReadStatus::waiting;
}

void ClusterMailbox::untrack(const std::string& inbox, const schema::MessageKey& key) {
  if (!is_elsewhere(inbox)) local_.untrack(inbox, key);
}

WriteReceipt ClusterMailbox::recall(const std::string& inbox, std::span<const schema::MessageKey> keys) {
  if (!is_elsewhere(inbox)) return local_.recall(inbox, keys);
  auto& context = state_.context;
  const auto reject_unsent = [&](Tx& tx) -> Status {
    for (const auto& key : keys) {
      TRY(const auto row, tx.ledger.node_mail().sent(context.name, context.owner_of(inbox), key));
      if (!row || row->state != NodeMailState::waiting || row->attempts > 0 || state_.under_way.contains(row->id)) continue;
      TRY(tx.ledger.node_mail().set(context.name, {row->id}, NodeMailState::rejected,
                                                    context.clock.wall_ms(), "taken back before it was sent"));
    }
    return Done{};
  };
  if (const auto committed = context.commit(reject_unsent, CommitAs::fact); !committed) return {WriteStatus::fault, committed.error().message};
  return {};
}

}  // namespace inbox_poller::poller
