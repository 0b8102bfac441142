// A team on several hosts: who lives where, and whose mail may come from which host. A host's name is proven by the
// engine's access rules; everything in a letter is what that host says, and a host may be hostile. So it may speak for
// those who live there, and for nobody else. Pure. Source: docs/adr/0044-hosts.md.
#pragma once

#include <optional>
#include <string_view>

#include "config/config.hpp"
#include "handlers/handler.hpp"
#include "schema/payload.hpp"

namespace inbox_poller::handlers {

/// On which host this member lives. The lead's is whichever leads; nobody asks here.
std::string_view host_of(const config::HostsSettings&, std::string_view member);

/// Whether mail for this member is for another host than ours. `leading`: the lead is here.
bool is_elsewhere(const config::HostsSettings&, std::string_view member, std::string_view lead, bool leading);

/// Whose stream a letter to this member goes into: a host's name; empty: that of whoever leads.
std::string_view host_for(const config::HostsSettings&, std::string_view member, std::string_view lead);

/// A letter as it arrived, decoded.
struct HostLetterView {
  std::string_view host;  // who wrote it: proven
  std::string_view to;
  std::string_view from;
  const schema::Payload& payload;
};
/// Why it is not taken; none when it is. Codes: "host.not_its_member", "host.not_ours", "direction.<type>".
std::optional<Refused> refusal_of(const config::HostsSettings&, const HostLetterView&, std::string_view lead,
                                  bool leading);

/// Whether this is an answer to an ask: the first one to an id is final.
bool is_final_answer(const schema::Payload&);

}  // namespace inbox_poller::handlers
