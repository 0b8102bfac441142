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

/// Which of the two things a person was told of an ask.
struct Told {
  bool asked = false;
  bool decided = false;
};
/// True when it is still to be told: that it was asked or, with `of_decision`, what was decided. An ask that was decided
/// before its turn came is nobody's business any more, and nor is its decision then.
bool is_to_be_told(const Ask&, const Told&, bool of_decision);

}  // namespace inbox_poller::handlers
