// The process that the roster says leads the team: a look at it.
#pragma once

#include <string>

#include "handlers/lead_process.hpp"
#include "poller/processes.hpp"
#include "schema/roster.hpp"

namespace inbox_poller::poller {

handlers::LeadProcessSight look_at(const schema::LeadProcess&, Processes&);
/// A name that no other process and no other claim has, for the record.
std::string claim_of(const schema::LeadProcess&);

}  // namespace inbox_poller::poller
