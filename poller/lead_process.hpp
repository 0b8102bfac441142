// Check of the process that the roster names as the lead.
#pragma once

#include <string>

#include "handlers/lead_process.hpp"
#include "poller/processes.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::poller {

handlers::LeadProcessSight look_at(const schema::LeadProcess&, Processes&);
/// Returns a unique name of the process and its claim, for the record.
std::string claim_of(const schema::LeadProcess&);

}  // namespace inbox_poller::poller
