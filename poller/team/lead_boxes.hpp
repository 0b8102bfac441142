// The boxes that are read for the lead: its own, its aliases, what came from other hosts, and in passing those of
// workers. What is new in one is taken in, committed, and only then consumed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poller/hosts/cluster_member.hpp"
#include "poller/pause.hpp"
#include "poller/team/intake.hpp"
#include "poller/team/standing_keeper.hpp"
#include "poller/team/team_parts.hpp"

namespace inbox_poller::poller {

/// How the lead's inbox looked at the last poll, for `status` and the log.
struct InboxReport {
  std::string state = "not polled yet";  // ok, missing, empty, torn, not_regular, too_large, locked, fault
  std::string detail;
};

class LeadBoxes {
 public:
  /// `chat` is raised for whoever hands over what was taken in.
  LeadBoxes(Runtime& services, TeamState& context, Mailbox& mailbox, TeamParts& parts, StandingKeeper& standing,
            Signal& chat);

  /// All boxes of the mailbox, or why it cannot tell.
  using Boxes = Result<std::span<const News>>;
  boost::asio::awaitable<void> look_at_lead(Boxes);
  boost::asio::awaitable<void> look_at_aliases(Boxes);
  /// What came for the lead from other hosts.
  boost::asio::awaitable<void> look_at_letters(ClusterMember&);
  boost::asio::awaitable<void> look_at_workers(std::span<const News>);

  /// To be called before the boxes are looked at: whoever became another reader is shown everything again.
  void follow_standing();
  /// The lead's inbox is read at the next poll although it does not change: something was left undone.
  void read_again() { read_under_.reset(); }
  [[nodiscard]] bool must_read() const { return read_under_ != standing_.times_stood(); }
  /// The whole of the lead's inbox was in view at the last look.
  [[nodiscard]] bool has_all() const { return report_.state == to_string(BoxState::open) && !must_read(); }
  [[nodiscard]] const InboxReport& report() const { return report_; }

 private:
  Intake& intake_of(const std::string& box, handlers::Place);
  /// As whom we read the lead's inbox.
  [[nodiscard]] Access reader() const;
  /// All that is new in a box of the lead's. False when something was left undone.
  boost::asio::awaitable<bool> take_in(std::string box, Intake& intake);
  /// How the lead's inbox looks at the beginning of a look. False when the look ends here.
  boost::asio::awaitable<bool> begin_look(const Batch&);
  boost::asio::awaitable<bool> ack(std::string box, std::vector<Ack>);
  boost::asio::awaitable<void> set_torn_aside(const Batch&);
  void report(BoxState, const std::string& detail);
  void tell_worry(const std::string& detail);

  Runtime& services_;
  TeamState& context_;
  Mailbox& mailbox_;
  TeamParts& parts_;
  StandingKeeper& standing_;
  Signal& chat_;
  Intake intake_;
  Intake between_;  // what others write to each other, where all of it is watched
  std::map<std::string, Intake> others_;  // aliases, and what came from other hosts
  std::optional<std::uint64_t> read_under_;  // times_stood() as all of the lead's inbox was read; none: it was not
  std::uint64_t changed_ = 0;                // times_changed() that was followed
  std::string lead_;  // whose inbox it was that we looked at
  std::string settle_detail_;
  InboxReport report_;
};

}  // namespace inbox_poller::poller
