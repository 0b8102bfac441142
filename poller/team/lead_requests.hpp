// The permission prompts of the lead's own session ([lead] permissions). The rules judge them; prompts that no rule
// decides may go to a person. The requests are kept in Requests, with the lead as the asker. No message answers them;
// the caller waits for the decision. Invariant: only a rule or a person allows a call.
#pragma once

#include <optional>
#include <string>

#include "poller/context/team_state.hpp"
#include "poller/team/requests.hpp"

namespace inbox_poller::poller {

/// A tool call that the lead's session wants to make.
struct LeadCall {
  std::string id;  // chosen by the caller; unchanged when the same call is asked again
  std::string tool;
  std::string input;  // a JSON object, as received
  std::string cwd;    // the session's working folder
};

struct LeadVerdict {
  config::Action decision = config::Action::ask;
  std::string rule;
  std::string reason;
  std::string updated_input;  // with an approval: the input to run instead; empty: unchanged
  bool by_person = false;     // decided by a person, not by a rule or a deadline
};

class LeadRequests {
 public:
  LeadRequests(TeamState& context, Requests& requests) : context_(context), requests_(requests) {}

  /// Returns the reason why this call cannot be judged; empty when it can be.
  [[nodiscard]] static std::optional<Error> problem_of(const LeadCall&);

  /// Verdict on a call of which only the beginning is known: a person must decide.
  [[nodiscard]] static LeadVerdict of_preview();
  /// Judges the call by the rules and records the verdict.
  Result<LeadVerdict> judge(const LeadCall&);

  /// True when a request may go to a person: the setting is on, and this node decides.
  [[nodiscard]] bool may_open() const;

  /// Finds the open or decided request for this call, if any. Withdrawn requests do not count.
  Result<std::optional<handlers::Request>> find(const LeadCall&);
  /// Opens a request that waits for a person; `verdict` gives the reason.
  Result<handlers::Request> open(const LeadCall&, const LeadVerdict& verdict);
  /// Withdraws a request that nobody waits for any more.
  void withdraw(const handlers::Request&);

  /// Returns the decision about a request that find() or open() returned; empty while the request is open. The decision
  /// is `ask` if the request was withdrawn; a caller that still waits opens it again.
  Result<std::optional<LeadVerdict>> decision(const handlers::Request&);

 private:
  /// Follows the ids of this call to the first one that does not name a withdrawn request.
  Result<std::optional<handlers::Request>> look_up(const LeadCall&, std::string& request_id);

  TeamState& context_;
  Requests& requests_;
};

}  // namespace inbox_poller::poller
