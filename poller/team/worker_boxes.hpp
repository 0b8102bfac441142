// The boxes of a team that are not the lead's: what others answered in the lead's name, what forgers wrote, what became
// of ours, and boxes of nobody. Reads, never consumes. What it is not: about chat between workers; that is looked
// through and left alone.
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
#include "poller/team/asks.hpp"

namespace inbox_poller::poller {

/// An inbox that belongs to nobody we know: a misspelt name, most of the time.
struct Phantom {
  std::size_t entries = 0;
  std::size_t unread = 0;
  SteadyTime since;
  bool told = false;
};

class WorkerBoxes {
 public:
  WorkerBoxes(TeamState& context, const Mailbox& mailbox, Asks& asks, Outbox& outbox)
      : context_(context), mailbox_(mailbox), asks_(asks), outbox_(outbox) {}

  /// Those that changed since they were last taken in, the lead's and its aliases left out. Call once a poll, with a
  /// fresh roster.
  std::vector<std::string> changed(std::span<const News>);
  /// One piece of what such a box holds now. False when it is to be shown again at the next look.
  bool take(const std::string& box, const Batch&);

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
    bool is_expected = false;  // no line of its own: the ask's end is one
  };
  /// Judges what is new, and carries that out. False when it could not be recorded.
  bool judge_all(const std::string& box, const std::vector<Taken>&, bool first_look);
  [[nodiscard]] handlers::BoxOf whose(const std::string& box, const std::string& owner) const;
  void judge(const std::string& box, const Taken&, bool first_look, std::vector<Finding>&) const;
  void judge_verdict(const std::string& box, const schema::Payload&, const schema::Message&, const schema::MessageKey&,
                     std::vector<Finding>&) const;

  TeamState& context_;
  const Mailbox& mailbox_;
  Asks& asks_;
  Outbox& outbox_;
  std::set<std::string> seen_;                // that were taken in
  std::optional<std::set<std::string>> old_;  // boxes from before our first look, until they were taken in
  std::map<std::string, Phantom> phantoms_;
  std::vector<std::string> aliases_;
};

}  // namespace inbox_poller::poller
