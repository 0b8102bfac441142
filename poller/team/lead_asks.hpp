// The lead's own permission prompts ([lead] permissions): judged by the rules, and put before a person where those ask.
// Such an ask is one of Asks like a worker's, with the lead as its asker; only that no message answers it: whoever put
// it before us waits for the decision. Nothing is ever allowed but by a rule or a person.
#pragma once

#include <optional>
#include <string>

#include "poller/context/team_state.hpp"
#include "poller/team/asks.hpp"

namespace inbox_poller::poller {

/// A tool call that the lead's session wants to make.
struct LeadCall {
  std::string id;  // the caller's; the same call has the same one when it is asked again
  std::string tool;
  std::string input;  // a JSON object, as it was written
  std::string cwd;    // the session's folder
};

struct LeadVerdict {
  config::Action decision = config::Action::ask;
  std::string rule;
  std::string reason;
  std::string updated_input;  // with an approval: what is to run instead; empty: as it was asked
  bool by_person = false;     // said in so many words, and not by a rule or a deadline
};

class LeadAsks {
 public:
  LeadAsks(TeamState& context, Asks& asks) : context_(context), asks_(asks) {}

  /// Why nobody could judge this call; empty when it can be.
  [[nodiscard]] static std::optional<Error> problem_of(const LeadCall&);

  /// What is said of a call of which only the beginning is known: it is for a person.
  [[nodiscard]] static LeadVerdict of_preview();
  /// What the rules say, recorded.
  Result<LeadVerdict> judge(const LeadCall&);

  /// True when an ask may go to a person: the setting is on, and here somebody decides.
  [[nodiscard]] bool may_open() const;

  /// The ask for this call, or none: open, or decided. What was withdrawn does not count.
  Result<std::optional<handlers::Ask>> find(const LeadCall&);
  /// A new one, which waits for a person; `verdict` says why.
  Result<handlers::Ask> open(const LeadCall&, const LeadVerdict& verdict);
  /// Nobody waits for it any more.
  void withdraw(const handlers::Ask&);

  /// The decision about a request that find() or open() returned; none while it is open, and still `ask` when it was
  /// withdrawn: whoever does wait for it opens it again.
  Result<std::optional<LeadVerdict>> decision(const handlers::Ask&);

 private:
  /// Follows the ids under which the call was asked, to the first that does not stand for a withdrawn ask.
  Result<std::optional<handlers::Ask>> look_up(const LeadCall&, std::string& request_id);

  TeamState& context_;
  Asks& asks_;
};

}  // namespace inbox_poller::poller
