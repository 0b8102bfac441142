// Reads the inboxes of a team that are not the lead's; never consumes. Finds answers that others gave in the lead's
// name, forged messages, the state of our own messages, and orphaned inboxes. Chat between workers is skipped.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "handlers/whose_box.hpp"
#include "poller/context/team_state.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/team/requests.hpp"

namespace inbox_poller::poller {

/// An orphaned inbox: no known member owns it. Most often a name was misspelled.
struct OrphanedInbox {
  std::size_t entries = 0;
  std::size_t unread = 0;
  SteadyTime since;
  bool told = false;
};

class WorkerBoxes {
 public:
  WorkerBoxes(TeamState& context, const Mailbox& mailbox, Requests& requests, Outbox& outbox)
      : context_(context), mailbox_(mailbox), requests_(requests), outbox_(outbox) {}

  /// Inboxes that changed since they were last read, without the lead's and its aliases. Call once a poll, with a fresh
  /// roster.
  std::vector<std::string> changed(std::span<const ReadyBox>);
  /// Evaluates one chunk of such an inbox. False when the next scan must return the inbox again.
  bool take(const std::string& box, const Batch&);

  /// Orphaned inboxes by name, if they lasted long enough to be reported.
  [[nodiscard]] std::map<std::string, OrphanedInbox> orphaned_inboxes() const;
  /// Existing inboxes of team.aliases, which are the lead's under another name.
  [[nodiscard]] const std::vector<std::string>& aliases() const { return aliases_; }

 private:
  /// An entry in a worker's inbox that is to be reported.
  struct Finding {
    Event event = Event::answer_foreign;
    Fields fields;
    std::optional<handlers::Request> closes;
    handlers::Answer answer;   // that closes it
    bool is_expected = false;  // not logged: the end of the request is the log line
  };
  /// Judges new entries and records the findings. False when they could not be recorded.
  bool judge_all(const std::string& box, const std::vector<BoxMessage>&, bool first_look);
  [[nodiscard]] handlers::BoxOf whose(const std::string& box, const std::string& owner) const;
  void judge(const std::string& box, const BoxMessage&, bool first_look, std::vector<Finding>&) const;
  void judge_verdict(const std::string& box, const schema::Payload&, const schema::Message&, const schema::MessageKey&,
                     bool fresh, std::vector<Finding>&) const;
  /// Judges the answer of another program to a request that is not open: keeps it for a request that is still to come,
  /// or reports it.
  void judge_other(const handlers::RequestName&, const schema::Message&, Finding, bool fresh,
                   std::vector<Finding>&) const;

  TeamState& context_;
  const Mailbox& mailbox_;
  Requests& requests_;
  Outbox& outbox_;
  std::set<std::string> seen_;                // inboxes that were read
  std::optional<std::set<std::string>> old_;  // inboxes from before our first scan, until they were read
  std::map<std::string, OrphanedInbox> orphaned_;
  std::vector<std::string> aliases_;
};

}  // namespace inbox_poller::poller
