#include "handlers/hosts.hpp"

#include <algorithm>

#include "handlers/direction.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::handlers {

std::string_view host_of(const config::HostsSettings& hosts, std::string_view member) {
  for (const auto& [host, names] : hosts.members)
    if (std::ranges::find(names, member) != names.end()) return host;
  return hosts.leads.empty() ? std::string_view() : std::string_view(hosts.leads.front());
}

bool is_elsewhere(const config::HostsSettings& hosts, std::string_view member, std::string_view lead, bool leading) {
  if (!hosts.is_set()) return false;
  return member == lead ? !leading : host_of(hosts, member) != hosts.host;
}

std::string_view host_for(const config::HostsSettings& hosts, std::string_view member, std::string_view lead) {
  return member == lead ? std::string_view() : host_of(hosts, member);
}

std::optional<Refused> refusal_of(const config::HostsSettings& hosts, const HostLetterView& letter,
                                  std::string_view lead, bool leading) {
  const std::string from(schema::bare_name(letter.from));
  const std::string host(letter.host);
  const bool by_lead = from == lead;
  const bool may_lead = std::ranges::find(hosts.leads, letter.host) != hosts.leads.end();
  if (by_lead && !may_lead)
    return Refused{"host.not_its_member", "host " + host + " speaks for the lead, and is none of those that may lead "
                                          "(cluster.leaders)"};
  if (!by_lead && host_of(hosts, from) != letter.host)
    return Refused{"host.not_its_member", "host " + host + " speaks for \"" + from + "\", who lives on " +
                                              std::string(host_of(hosts, from)) + " (cluster.members)"};
  if (is_elsewhere(hosts, letter.to, lead, leading))
    return Refused{"host.not_ours", "it is for \"" + std::string(letter.to) + "\", who does not live here"};
  if (letter.to == lead) return std::nullopt;  // judged by intake, like all mail to the lead
  const auto direction = direction_of(letter.payload, by_lead ? Side::lead : Side::member, Place::worker);
  if (direction.passage != Passage::refuse) return std::nullopt;
  return Refused{"direction." + std::string(schema::type_name(letter.payload)), std::string(direction.reason)};
}

bool is_final_answer(const schema::Payload& payload) {
  return std::holds_alternative<schema::PermissionResponse>(payload) ||
         std::holds_alternative<schema::SandboxPermissionResponse>(payload) ||
         std::holds_alternative<schema::PlanApprovalResponse>(payload);
}

}  // namespace inbox_poller::handlers
