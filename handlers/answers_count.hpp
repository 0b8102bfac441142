// Whether a worker takes answers of ours. One that a lead of client 2.1.329 or newer started takes answers, and
// requests to shut down, from that lead's process only; in the right shape from anybody else they make its ask fail.
// That is the client's protection: nothing is written that would be refused. Pure. Source: docs/adr/0019.
#pragma once

#include <string>
#include <string_view>

#include "handlers/ask_state.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

/// What the processes of this user tell of a worker.
enum class WorkerProcess {
  unseen,       // none names it: it runs elsewhere, hides its command line, or has ended
  without_key,  // one does, and no lead gave it a key
  with_key,     // one does, with the key of its lead: what is not signed with it is refused
};

enum class Answers { count, verified, presumed_verified };
consteval auto words_of(Answers) { return std::to_array<std::string_view>({"count", "verified", "presumed verified"}); }
inline std::string_view to_string(Answers answers) { return schema::name_of(answers); }

struct AnswerAuthority {
  Answers answers = Answers::count;
  std::string reason;  // a clause for people: "its process …"
  [[nodiscard]] bool counts() const { return answers == Answers::count; }
};
/// Total. `lead_signs`: the roster shows a lead of the generation that signs what it writes.
AnswerAuthority worth_of(WorkerProcess, bool lead_signs);

/// True for events whose words to the worker it would verify. A refused wish to stop is plain chat.
bool is_verified(AskKind, AskEvent);

/// "ada takes answers from its own lead only: its process …"
std::string verifies(std::string_view worker, const AnswerAuthority&);
/// What to do instead of answering it here.
std::string answered_instead(std::string_view worker);

}  // namespace inbox_poller::handlers
