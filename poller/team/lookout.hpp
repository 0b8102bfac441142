// A look at all inboxes of a team that are not the lead's: what others answered in the lead's name, what forgers wrote,
// which of our entries were consumed or lost, and inboxes of nobody. Reads, never marks. What it is not: about chat
// between workers; that is looked through and left alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "poller/context/team_context.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/team/asks.hpp"

namespace inbox_poller::poller {

/// An inbox that belongs to nobody we know: a misspelt name, most of the time.
struct Phantom {
  std::size_t entries = 0;
  std::size_t unread = 0;
  SteadyTime since;
  bool told = false;
};

class Lookout {
 public:
  Lookout(TeamContext& context, ArraysMailbox& mailbox, Asks& asks, Outbox& outbox)
      : context_(context), mailbox_(mailbox), asks_(asks), outbox_(outbox) {}

  struct Changed {
    std::string inbox;
    std::uint64_t size = 0;  // bytes
  };
  /// Inboxes that changed since they were last taken in, the lead's and its aliases left out. Call once a tick, with a
  /// fresh roster.
  std::vector<Changed> changed();
  /// What one of them holds now. A reading that failed is tried again next time.
  void take(const std::string& inbox, ReadResult&);

  /// By inbox name; those that lasted long enough to be told of.
  [[nodiscard]] std::map<std::string, Phantom> phantoms() const;
  /// Inboxes of team.aliases that exist: the lead's, under another name.
  [[nodiscard]] const std::vector<std::string>& aliases() const { return aliases_; }

 private:
  /// Something that was written in a worker's inbox and is worth a line.
  struct Finding {
    Event event = Event::answer_foreign;
    Fields fields;
    std::optional<handlers::Ask> closes;
    std::string by;
    std::string reason;
  };
  /// Judges what is new in the window at hand, and carries that out. False when it could not be recorded.
  bool take_window(const std::string& inbox, const ReadResult&, const Window&, bool first_look);
  [[nodiscard]] bool is_somebody(const std::string& inbox) const;
  void judge(const std::string& inbox, const schema::InboxDocument&, const schema::InboxEntry&, bool first_look,
             std::vector<Finding>&) const;
  void judge_verdict(const std::string& inbox, const schema::Payload&, const schema::Message&,
                     const schema::InboxEntry&, std::vector<Finding>&) const;

  TeamContext& context_;
  ArraysMailbox& mailbox_;
  Asks& asks_;
  Outbox& outbox_;
  std::map<std::string, KeySet> seen_;        // by inbox; what the mailbox does not know
  std::optional<std::set<std::string>> old_;  // inboxes from before our first look, until they were taken in
  std::map<std::string, Phantom> phantoms_;
  std::vector<std::string> aliases_;
};

}  // namespace inbox_poller::poller
