// The reception of a message in the lead's inbox after its handler's outcome: whether InboxPoller takes the message,
// whether the queue has room, how the message reaches the lead, and whether it may be marked. Pure.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The code of messages that the roles interceptor and observer leave to the lead.
inline constexpr std::string_view left_code = "role.left";
std::string left_reason(const Membership&);
/// The code of recorded mail between others, in a team that is only watched.
inline constexpr std::string_view between_code = "role.between";

/// The queue position of a message to the lead.
enum class Lane { none, digest, chat, urgent };

struct Arrival {
  std::string_view sender;  // bare
  bool was_read = false;    // when first seen
  long long queued = 0;     // chat that waits for the lead
  long long of_sender = 0;  // of the queued chat, this sender's
};
struct Reception {
  enum class What {
    accepted,
    already_read,  // read by a competing consumer before InboxPoller saw it; whether the lead got it is unknown
    left,          // to the lead, which reads this inbox
    stays,         // in the inbox, unread: the queue is full
  };
  What what = What::accepted;
  Lane lane = Lane::none;
  std::string reason;  // empty for accepted messages, except refused ones
};
/// Decides how a message is taken. Each sender has an equal share of the queue, used or not, so that no sender fills
/// it. Reports need room like chat, but a report that does not fit is recorded and not queued.
Reception receive(const ToLead&, const Arrival&, const TeamView&);
Reception receive(const WorkerStatus&, const Arrival&, const TeamView&);
/// Decides about a refused message. The consumer of the inbox sets the message aside; every other role leaves it to the
/// lead.
Reception receive(const Refused&, const Membership&);

/// Returns why no rule decides a request that another lead has answered, or, in a role next to it, has read before us;
/// empty when a rule may.
std::string_view why_leads(bool was_answered, bool was_read, const Membership&);

/// A repeat of a request.
enum class Repeat {
  left,
  told,      // recorded; its worker would refuse an answer, so none is written again
  answered,  // recorded, and the recorded answer is written again
};
/// Returns how a repeat is handled. `by_rule`: a rule of InboxPoller decided the request.
Repeat repeated(const Membership&, bool by_rule, const AnswerAuthority&);

/// Returns true for an open request whose worker no longer waits for the answer, because this report shows the end of
/// its turn. Not for a leader's requests with a deadline: their workers still get an answer.
bool is_moot(const Request& open, const WorkerStatus&, std::string_view sender, const Membership&);

/// The ledger's data about an unread message that is seen again after a start or a change of role.
struct Met {
  bool left = false;     // left to another lead
  bool unsent = false;   // chat that never entered the queue
  bool by_rule = false;  // a request that a rule of InboxPoller decided
};
enum class Again {
  nothing,
  ours_to_mark,
  adopted,  // another lead did not read it, and InboxPoller has become the consumer
};
Again met_again(const Membership&, const Met&);

/// Returns true if a message may be marked read. `by_rule`: a rule of InboxPoller decided the request.
bool may_mark(const Membership&, bool by_rule);

}  // namespace inbox_poller::handlers
