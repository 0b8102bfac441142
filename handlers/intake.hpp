// What becomes of a message in the lead's inbox beyond its handler's word: whether it is for us to take, whether the
// queue for the lead has room for it, how it goes there, and what of it we may mark. Pure.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The code of what role front and observer leave to the lead.
inline constexpr std::string_view left_code = "role.left";
std::string left_reason(const Membership&);
/// The code of what is recorded of the mail between others, where a team is only watched.
inline constexpr std::string_view between_code = "role.between";

/// How a message goes to the lead.
enum class Lane { none, digest, chat, urgent };

struct Arrival {
  std::string_view sender;  // bare
  bool was_read = false;    // when it was first seen
  long long queued = 0;     // chat that waits for the lead
  long long of_sender = 0;  // of that, this sender's
};
struct Reception {
  enum class What {
    accepted,
    already_read,  // somebody consumed it before we ever saw it; whether the lead got it is theirs to know
    left,          // to the lead, which consumes this inbox
    stays,         // in the inbox, unread: the queue has no room
  };
  What what = What::accepted;
  Lane lane = Lane::none;
  std::string reason;  // of all but what was accepted
};
/// Each sender has an equal share of the queue, used or not: however much one writes, there is room for what the others
/// say. Reports count like chat, and yield to it: one that does not fit is recorded and goes no further.
Reception receive(const ToLead&, const Arrival&, const TeamView&);
Reception receive(const WorkerStatus&, const Arrival&, const TeamView&);
/// What is refused is set aside by the consumer of the inbox; to anybody else it is the lead's.
Reception receive(const Refused&, const Membership&);

/// Whose an ask is, when it is met for the first time.
enum class FirstMet {
  ours,           // also beside another lead: a rule answers it
  left,           // to the lead, which had read it before
  open_for_lead,  // beside another lead, and no rule answers it: recorded, and not marked
};
FirstMet first_met(const Asked&, bool was_read, const Membership&);

/// The same ask once more.
enum class Repeat {
  left,
  told,      // recorded; its asker would refuse an answer of ours, so none is written again
  answered,  // recorded, and the recorded answer is written again
};
/// `by_rule`: a rule of ours decided it.
Repeat repeated(const Membership&, bool by_rule, const AnswerAuthority&);

/// True for an open ask that nobody waits for any more after this report of its asker: its turn has ended. Of those
/// that are ours to answer the asker still hears.
bool is_moot(const Ask& open, const WorkerStatus&, std::string_view sender, const Membership&);

/// What the record has of an unread message that we meet again, after a start or a change of role.
struct Met {
  bool left = false;     // was left to another lead
  bool unsent = false;   // chat that never entered the queue
  bool by_rule = false;  // an ask that a rule of ours decided
};
enum class Again {
  nothing,
  ours_to_mark,
  taken_over,  // another lead did not read it, and now we are the lead's side
};
Again met_again(const Membership&, const Met&);

/// `by_rule` as above.
bool may_mark(const Membership&, bool by_rule);

}  // namespace inbox_poller::handlers
