// What mail and tasks that agents share say, and what is said when something is wrong with them: the same words whether
// they are kept in files or elsewhere. All times are tokens of seconds since the Unix epoch.
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

/// A message or task over so many bytes is neither written nor read.
inline constexpr std::size_t most_envelope_bytes = std::size_t{4} << 20;
/// "payload.too_large".
Status require_size_of(std::string_view bytes);

/// 32 hexadecimal digits that nobody else has.
std::string fresh_id();

/// "name.invalid", with what a name may be.
bool is_actor_name(std::string_view name);
Status require_actor_name(std::string_view name);

schema::Envelope message_of(const std::string& actor, const Letter&, const std::string& id, const std::string& now);
/// "payload.invalid".
Status require_type(const Letter&);
/// "actor.unknown" unless `to` is one of `known`. An empty list allows every name.
Status require_known(const std::string& to, const std::vector<std::string>& known);
/// Words for the sender of a message whose addressee had no mailbox. `actors`: who has one.
std::string new_mailbox_note(const std::string& to, const std::string& sender, const std::vector<std::string>& actors);

schema::Envelope open_task(const std::string& actor, const std::string& type, const boost::json::value& payload,
                           std::optional<double> priority, const std::string& id, const std::string& now);
void write_claim(schema::Envelope&, const std::string& actor, const std::string& now, std::string until);
void write_result(schema::Envelope&, const boost::json::value& result, const std::string& now);
void write_abandoned(schema::Envelope&, const std::string& actor, const std::string& reason, unsigned max_attempts,
                     const std::string& now);
void write_swept(schema::Envelope&, const std::string& holder, unsigned max_attempts, const std::string& now);
void write_requeued(schema::Envelope&, const std::string& now);
/// A result that came too late, as it is kept.
schema::Envelope late_result(schema::Envelope task, const std::string& actor, const boost::json::value& result,
                             const std::string& why, const std::string& now);

/// "task.done" or "task.not_held" of a task that stands there; of none "task.unknown".
Error not_held_by(const std::string& actor, const std::string& id, const TaskFile&);
Error no_task(const std::string& id, const std::string& place);
/// Of a task that stands in several places: done is done, a result that came late is no task. None: null.
const TaskFile* best_of(const std::vector<TaskFile>&, const std::string& id);
/// What TaskStore::whole_id() says.
Result<std::string> whole_id_among(const std::vector<TaskFile>&, const std::string& beginning, const std::string& place);
/// "task.not_dead" unless it can be claimed again.
Status require_dead(const TaskFile&, const std::string& id);
/// The moment that orders a task among others: in nanoseconds, of the name of its file, or else of its `ts`.
long long order_of(const TaskFile&);
/// With what to do next, where the task is not the caller's.
Error with_lease_advice(Error);

/// One line of a list of messages.
struct ListedMessage {
  std::string id, from, type;
  double ts = 0;
};
inline constexpr std::size_t most_listed = 100;
/// What ActorMail::inbox() answers.
boost::json::object inbox_answer(const std::string& actor, std::size_t unread, const std::vector<ListedMessage>&,
                                 const TaskCounts&, const std::vector<std::string>& mine);

}  // namespace inbox_poller::poller
