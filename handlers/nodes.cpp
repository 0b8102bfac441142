#include "handlers/nodes.hpp"

#include <algorithm>

#include "handlers/direction.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::handlers {
namespace {

constexpr EpochMs sent_after_ms = 5'000;     // nodes tell every three seconds: what is heard so late was sent after it
constexpr EpochMs longest_wait_ms = 30'000;

}  // namespace

std::string_view node_of(const config::ClusterSettings& nodes, std::string_view member) {
  for (const auto& [node, names] : nodes.members)
    if (std::ranges::find(names, member) != names.end()) return node;
  return nodes.leads.empty() ? std::string_view() : std::string_view(nodes.leads.front());
}

bool is_elsewhere(const config::ClusterSettings& nodes, std::string_view member, std::string_view lead, bool leading) {
  if (!nodes.is_set()) return false;
  return member == lead ? !leading : node_of(nodes, member) != nodes.node;
}

std::string_view host_for(const config::ClusterSettings& nodes, std::string_view member, std::string_view lead) {
  return member == lead ? std::string_view() : node_of(nodes, member);
}

std::optional<Refused> refusal_of(const config::ClusterSettings& nodes, const NodeMailView& letter,
                                  std::string_view lead, bool leading) {
  const std::string from(schema::bare_name(letter.from));
  const std::string node(letter.node);
  const bool by_lead = from == lead;
  const bool may_lead = std::ranges::find(nodes.leads, letter.node) != nodes.leads.end();
  if (by_lead && !may_lead)
    return Refused{"node.not_its_member", "node " + node + " speaks for the lead, and is none of those that may lead "
                                          "(cluster.leaders)"};
  if (!by_lead && node_of(nodes, from) != letter.node)
    return Refused{"node.not_its_member", "node " + node + " speaks for \"" + from + "\", who lives on " +
                                              std::string(node_of(nodes, from)) + " (cluster.members)"};
  if (is_elsewhere(nodes, letter.to, lead, leading))
    return Refused{"node.not_ours", "it is for \"" + std::string(letter.to) + "\", who does not live here"};
  if (letter.to == lead) return std::nullopt;  // judged by the receiver, like all mail to the lead
  const auto direction = direction_of(letter.payload, by_lead ? Side::lead : Side::member, Place::worker);
  if (direction.passage != Passage::refuse) return std::nullopt;
  return Refused{"direction." + std::string(schema::type_name(letter.payload)), std::string(direction.reason)};
}

bool waits_for_heartbeat(EpochMs received_ms, EpochMs heard_ms, EpochMs now_ms) {
  const EpochMs waited = now_ms - received_ms;  // below 0 when the clock was set back
  return waited >= 0 && waited < longest_wait_ms && heard_ms < received_ms + sent_after_ms;
}

bool is_final_answer(const schema::Payload& payload) {
  return std::holds_alternative<schema::PermissionResponse>(payload) ||
         std::holds_alternative<schema::SandboxPermissionResponse>(payload) ||
         std::holds_alternative<schema::PlanApprovalResponse>(payload);
}

}  // namespace inbox_poller::handlers
