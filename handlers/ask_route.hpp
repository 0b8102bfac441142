// Who is asked what no rule decides, and who may answer it.
#pragma once

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// True when this ask is put before the lead session, and only then the lead's name may answer it. Its own prompt never
/// is. Everybody else may always answer: somebody must be able to help when the lead does not. The name is what an
/// answer says of itself, no proof.
bool asks_lead(const Ask&, const TeamView&);

/// True when a person is told of this ask.
bool asks_person(const Ask&, const TeamView&);

}  // namespace inbox_poller::handlers
