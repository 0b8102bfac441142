// Whether a worker accepts answers from InboxPoller. A worker that a lead of client 2.1.329 or newer started accepts
// answers and shutdown requests from that lead's process only. An answer in the right shape from any other process
// makes the request fail. Invariant: nothing is written that the worker would refuse. Pure. Source: docs/adr/0019.
#pragma once

#include <string>
#include <string_view>

#include "handlers/request_state.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

/// Evidence about a worker from the processes of this user.
enum class WorkerProcess {
  unseen,       // no process names the worker: it runs elsewhere, hides its command line, or has ended
  without_key,  // a process names the worker, and no lead gave the process a key
  with_key,     // a process names the worker and has its lead's key: anything not signed with the key is refused
};

enum class Answers { count, verified, presumed_verified };
consteval auto words_of(Answers) { return std::to_array<std::string_view>({"count", "verified", "presumed verified"}); }
inline std::string_view to_string(Answers answers) { return schema::name_of(answers); }

struct AnswerAuthority {
  Answers answers = Answers::count;
  std::string reason;  // a clause for people: "its process …"
  [[nodiscard]] bool counts() const { return answers == Answers::count; }
};
/// Returns whether the worker accepts answers. Total. `lead_signs`: the roster shows a lead that signs its messages.
AnswerAuthority authority_of(WorkerProcess, bool lead_signs);

/// Returns true for events whose message to the worker the worker would verify. A denied request to stop is plain chat,
/// which no worker verifies.
bool is_verified(RequestKind, RequestEvent);

/// Returns a sentence for people: "ada takes answers from its own lead only: its process …".
std::string verifies(std::string_view worker, const AnswerAuthority&);
/// Returns a sentence about the alternatives to an answer from InboxPoller.
std::string answered_instead(std::string_view worker);

}  // namespace inbox_poller::handlers
