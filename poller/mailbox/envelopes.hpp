// Fields of the mail and tasks that agents share, and the errors about them: the same for files and for Redis. All
// times are tokens of seconds since the Unix epoch.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/mailbox/task_events.hpp"
#include "poller/mailbox/actor_mail.hpp"
#include "poller/mailbox/task_store.hpp"

namespace inbox_poller::poller {

/// Limit in bytes; a larger message or task is neither written nor read.
inline constexpr std::size_t most_envelope_bytes = std::size_t{4} << 20;
/// Checks the size against `most_envelope_bytes`. Error: "payload.too_large".
Status require_size_of(std::string_view bytes);

/// Draws an id of 32 hexadecimal digits, unique without coordination.
std::string fresh_id();

/// Tests an actor name; require_actor_name() returns "name.invalid", with the rule for names.
bool is_actor_name(std::string_view name);
Status require_actor_name(std::string_view name);

schema::Envelope message_of(const std::string& actor, const MessageDraft&, const std::string& id, const std::string& now);
/// Checks that the letter has a type. Error: "payload.invalid".
Status require_type(const MessageDraft&);
/// Checks that `to` is one of `known`. An empty list allows every name. Error: "actor.unknown".
Status require_known(const std::string& to, const std::vector<std::string>& known);
/// Builds the sentence for the sender of a message whose addressee had no mailbox. `actors` have a mailbox already.
std::string new_mailbox_note(const std::string& to, const std::string& sender, const std::vector<std::string>& actors);

schema::Envelope open_task(const std::string& actor, const std::string& type, const boost::json::value& payload,
                           std::optional<double> priority, const std::string& id, const std::string& now);
void write_claim(schema::Envelope&, const std::string& actor, const std::string& now, std::string until);
void write_result(schema::Envelope&, const boost::json::value& result, const std::string& now);
void write_abandoned(schema::Envelope&, const std::string& actor, const std::string& reason, unsigned max_attempts,
                     const std::string& now);
void write_swept(schema::Envelope&, const std::string& holder, unsigned max_attempts, const std::string& now);
void write_requeued(schema::Envelope&, const std::string& now);
/// Builds the record of a late result, as it is kept among the dead letters.
schema::Envelope late_result(schema::Envelope task, const std::string& actor, const boost::json::value& result,
                             const std::string& why, const std::string& now);

/// Builds the error for a task that exists and that `actor` does not hold: "task.done" or "task.not_held". no_task()
/// builds "task.unknown".
Error not_held_by(const std::string& actor, const std::string& id, const TaskFile&);
Error no_task(const std::string& id, const std::string& place);
/// Finds the task with this id where several records have it: done before claimed before others, a late result last.
/// Returns null if there is none.
const TaskFile* best_of(const std::vector<TaskFile>&, const std::string& id);
/// Implements TaskStore::whole_id() over these tasks. Errors: "mailbox.usage" (ambiguous), "task.unknown".
Result<std::string> whole_id_among(const std::vector<TaskFile>&, const std::string& beginning, const std::string& place);
/// Checks that a task is a dead letter that can be claimed again. Error: "task.not_dead".
Status require_dead(const TaskFile&, const std::string& id);
/// Returns the sort time of a task in nanoseconds since the Unix epoch: from its file name, or else from its `ts`.
long long order_of(const TaskFile&);
/// Adds the next step to the message of "task.not_held" and "task.unknown".
Error with_lease_advice(Error);

/// One message in the list of inbox().
struct ListedMessage {
  std::string id, from, type;
  double ts = 0;
};
inline constexpr std::size_t most_listed = 100;
/// Builds the answer of ActorMail::inbox(); lists at most `most_listed` messages.
boost::json::object inbox_answer(const std::string& actor, std::size_t unread, const std::vector<ListedMessage>&,
                                 const TaskCounts&, const std::vector<std::string>& mine);

}  // namespace inbox_poller::poller
