// A team on several nodes: who lives on which node, and whose mail may come from which node. Redis' access rules
// prove a node's name; a letter's contents are that node's claim, and a node may be hostile. Invariant: a node speaks
// only for its own members; only a node that may lead speaks for the lead. Pure. Source: docs/adr/0042-nodes.md.
#pragma once

#include <optional>
#include <string_view>

#include "config/config.hpp"
#include "handlers/handler.hpp"
#include "schema/payload.hpp"

namespace inbox_poller::handlers {

/// Returns the node of this member. Not for the lead, who lives on the leader node.
std::string_view node_of(const config::ClusterSettings&, std::string_view member);

/// Returns true if mail for this member is for another node. `leading`: this node leads.
bool is_elsewhere(const config::ClusterSettings&, std::string_view member, std::string_view lead, bool leading);

/// Returns the node whose stream gets a letter to this member; empty: the leader node's.
std::string_view host_for(const config::ClusterSettings&, std::string_view member, std::string_view lead);

/// A received letter, decoded.
struct NodeMailView {
  std::string_view node;  // the sending node: proven
  std::string_view to;
  std::string_view from;
  const schema::Payload& payload;
};
/// Returns why a letter is refused; empty if it is accepted. Codes: "node.not_its_member", "node.not_ours",
/// "direction.<type>".
std::optional<Refused> refusal_of(const config::ClusterSettings&, const NodeMailView&, std::string_view lead,
                                  bool leading);

/// Returns true if a letter, received at `received_ms` from a sender that does not seem to be in the team, waits for a
/// heartbeat that may tell that it has joined. It waits for one that was sent after it, but half a minute at most,
/// because its node may be gone. `heard_ms`: when the last heartbeat of its node was read; 0: never.
bool waits_for_heartbeat(EpochMs received_ms, EpochMs heard_ms, EpochMs now_ms);

/// Returns true for an answer to a request. The first answer to an id is final.
bool is_final_answer(const schema::Payload&);

}  // namespace inbox_poller::handlers
