// Receipts of the replication: reports the state of received messages to their nodes, and applies received receipts.
#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "poller/cluster/replicator.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::string_view receipt_type = "receipt";
constexpr int told_at_once = 500;
constexpr std::size_t longest_reason = 500;

std::string text_in(const json::value& value) {
  const auto* text = value.if_string();
  return text == nullptr ? std::string() : std::string(*text).substr(0, longest_reason);
}

}  // namespace

asio::awaitable<bool> Replicator::tell(std::string node) {
  auto& table = state_.context.ledger.node_mail();
  const auto& team = state_.context.name;
  for (;;) {
    const auto rows = table.untold(team, node, told_at_once);
    if (!rows) co_return ledger_failed(rows.error());
    if (rows->empty()) co_return true;
    json::array there, read, refused;
    for (const auto& row : *rows) {
      const json::string key(row.key.value);
      if (row.state == NodeMailState::read)
        read.push_back(key);
      else if (row.state == NodeMailState::rejected)
        refused.push_back(json::array{key, json::string(row.problem.substr(0, longest_reason))});
      else
        there.push_back(key);
    }
    Frame frame;
    frame.address = node_address(node);
    frame.type = receipt_type;
    const auto epoch = state_.leading() ? state_.lease.epoch : 0;
    frame.entry =
        json::serialize(json::object{{"epoch", epoch}, {"there", there}, {"read", read}, {"refused", refused}});
    frame.at_ms = state_.context.clock.wall_ms();
    frame.key = schema::make_message_key({team, frame.address}, state_.settings.node, std::to_string(frame.at_ms),
                                          frame.entry, 0);
    if (node == state_.settings.node) {  // needs no engine, which might lose it
      ReceivedFrame own{std::move(frame), node, {}};
      const auto heard = state_.commit([&](Tx& tx) { return take_receipt(own, tx); });
      if (!heard) co_return ledger_failed(heard.error());
    } else {
      std::vector<Frame> frames;
      frames.push_back(std::move(frame));
      const auto outcomes = co_await broker_.put(std::move(frames), 0);
      if (!outcomes) co_return failed(outcomes.error());
    }
    // Mark the state that was sent; a row may have moved on meanwhile.
    for (const auto& row : *rows)
      (row.state == NodeMailState::read || row.state == NodeMailState::rejected ? state_.receipts.ended
                                                                                : state_.receipts.told)
          .push_back(row.id);
    if (rows->size() < told_at_once) co_return true;
    if (auto written = state_.write_receipts(); !written) co_return ledger_failed(written.error());
  }
}

Status Replicator::take_receipt(const ReceivedFrame& frame, Tx& tx) {
  auto& table = tx.ledger.node_mail();
  const auto& team = state_.context.name;
  if (frame.type != receipt_type) return Done{};  // from a later version: unknown types are ignored
  boost::system::error_code problem;
  const auto parsed = json::parse(frame.entry, problem);
  const auto* object = problem ? nullptr : parsed.if_object();
  if (object == nullptr) return Done{};
  const auto now = state_.context.clock.wall_ms();
  // Rows for the lead that a node has from an earlier leadership are given up, also if this node leads again. So its
  // receipts from then do not count.
  const auto* told_in = object->if_contains("epoch");
  const auto* epoch = told_in == nullptr ? nullptr : told_in->if_int64();
  const bool leads = frame.node == state_.leader && epoch != nullptr && *epoch > 0 && *epoch >= state_.leader_epoch;
  NodeWord word{node_address(frame.node), leads, NodeMailState::there, {}};
  const auto list = [&](std::string_view name) {
    const auto* value = object->if_contains(name);
    const auto* found = value == nullptr ? nullptr : value->if_array();
    return found == nullptr ? json::array() : *found;
  };
  const auto hear = [&](NodeMailState state, std::string_view name) {
    word.state = state;
    std::vector<std::string> keys;
    for (const auto& one : list(name)) keys.push_back(text_in(one));
    return table.heard(team, word, keys, now);
  };
  TRY(hear(NodeMailState::there, "there"));
  TRY(hear(NodeMailState::read, "read"));
  for (const auto& one : list("refused")) {
    const auto* pair = one.if_array();
    if (pair == nullptr || pair->size() != 2) continue;
    const auto key = text_in((*pair)[0]);
    word.state = NodeMailState::rejected;
    word.problem = "node " + frame.node + " refused it: " + text_in((*pair)[1]);
    TRY(const auto ours, table.like(key, 8));
    const bool is_news = std::ranges::any_of(ours, [&](const NodeMailRow& row) {
      return row.team == team && row.direction == MailDirection::out && row.key.value == key && row.state != NodeMailState::rejected &&
             row.state != NodeMailState::read && (row.node == word.stream || (word.leads && row.node == lead_address));
    });
    TRY(table.heard(team, word, {key}, now));
    if (is_news)
      tx.log(Event::replication_rejected,
             {{"team", team}, {"node", frame.node}, {"message_key", key}, {"reason", word.problem}});
  }
  return Done{};
}

}  // namespace inbox_poller::poller
