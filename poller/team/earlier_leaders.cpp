#include "poller/team/earlier_leaders.hpp"

#include <utility>

#include "poller/broker/broker.hpp"
#include "schema/codec.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace {

constexpr int most_of_one_request = 20;  // rows between nodes

}  // namespace

Result<bool> is_known(const TeamState& context, const std::string& inbox, const schema::MessageKey& key, Tx& tx) {
  TRY(const auto known, tx.ledger.messages().known(key));
  if (known || !context.config.cluster.is_set() || inbox != schema::inbox_name(context.lead)) return known;
  TRY(const auto sent, tx.ledger.node_mail().sent(context.name, context.lead, key));
  return sent.has_value();
}

Status file_again(const TeamState& context, const MessageRow& row, Tx& tx) {
  if (!context.config.cluster.is_set()) return Done{};
  return tx.ledger.node_mail().file_answer_again(context.name, row.sender, row.request_id, row.received_ms);
}

Result<std::optional<handlers::Request>> first_of(const handlers::RequestRef& ref,
                                                  std::optional<handlers::Request> found, const std::string& sender,
                                                  const TeamState& context, const Mailbox& mailbox, Tx& tx) {
  std::optional<handlers::Request> none;
  if (found || !context.config.cluster.is_set()) return found;
  TRY(const auto answer, tx.ledger.node_mail().answer_to(context.name, sender, ref.request_id));
  if (!answer) return none;
  TRY(const auto rows, tx.ledger.node_mail().of_request(ref.request_id, most_of_one_request));
  for (const auto& one : rows) {
    const bool is_asked = one.team == context.name && one.direction == MailDirection::out && one.node == lead_address &&
                          one.sender == sender;
    if (!is_asked) continue;
    const auto decoded = mailbox.decode(one.entry);
    const auto first = decoded ? handlers::request_of(schema::decode_payload(decoded->message.text)) : std::nullopt;
    if (!first || first->kind != ref.kind) continue;
    handlers::Request request;
    request.kind = ref.kind;
    request.request_id = ref.request_id;
    request.asker = sender;
    request.content_hash = first->content_hash;
    request.state = handlers::RequestState::answered_elsewhere;
    request.asked_ms = one.created_ms;
    return std::optional(std::move(request));
  }
  return none;
}

}  // namespace inbox_poller::poller
