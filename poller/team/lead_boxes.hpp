// Reads the inboxes for the lead: its own, its aliases, messages from other nodes, and, in passing, those of workers.
// New messages are accepted, committed, and only then consumed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poller/cluster/cluster_member.hpp"
#include "poller/pause.hpp"
#include "poller/team/receiver.hpp"
#include "poller/team/role_keeper.hpp"
#include "poller/team/team_parts.hpp"

namespace inbox_poller::poller {

/// State of the lead's inbox at the last poll, for `status` and the log.
struct InboxReport {
  std::string state = "not polled yet";  // ok, missing, empty, torn, not_regular, too_large, locked, fault
  std::string detail;
};

class LeadBoxes {
 public:
  /// `chat` is raised when accepted messages may be delivered.
  LeadBoxes(Runtime& services, TeamState& context, Mailbox& mailbox, TeamParts& parts, RoleKeeper& role_keeper,
            Signal& chat);

  /// All inboxes of the mailbox, or the error of listing them.
  using Boxes = Result<std::span<const ReadyBox>>;
  boost::asio::awaitable<void> scan_lead_box(Boxes);
  boost::asio::awaitable<void> look_at_aliases(Boxes);
  /// Accepts messages for the lead from other nodes.
  boost::asio::awaitable<void> drain_forwarded(ClusterMember&);
  boost::asio::awaitable<void> scan_worker_boxes(std::span<const ReadyBox>);

  /// Registers `look`, which reads the roster if it has changed. Each box of a system with requests calls it between reading
  /// and judging, so that a worker that joined before it wrote is known.
  void look_at_roster(std::function<void()> look) { look_at_roster_ = std::move(look); }
  /// Call before the inboxes are read. After a change of the reader, all unread messages are read again.
  void follow_role();
  /// Makes the next poll read the lead's inbox even if it is unchanged, because work was left undone.
  void read_again() { read_under_.reset(); }
  [[nodiscard]] bool must_read() const { return read_under_ != role_keeper_.times_set(); }
  /// True if only a change makes work: the lead's inbox was read, or is missing.
  [[nodiscard]] bool is_idle() const { return !must_read() || report_.state == to_string(BoxState::missing); }
  /// True when the last scan saw the whole inbox of the lead.
  [[nodiscard]] bool has_all() const { return report_.state == to_string(BoxState::open) && !must_read(); }
  /// True when nothing that was in the inbox at the start of the poll is unread, also because there is no inbox.
  [[nodiscard]] bool has_read() const { return has_all() || report_.state == to_string(BoxState::missing); }
  [[nodiscard]] const InboxReport& report() const { return report_; }

 private:
  Receiver& receiver_of(const std::string& box, handlers::Place);
  /// Access with which the lead's inbox is read.
  [[nodiscard]] Access reader() const;
  /// Accepts all new messages of one of the lead's inboxes. False when work was left undone.
  boost::asio::awaitable<bool> take_in(std::string box, Receiver& receiver);
  /// Records the state of the lead's inbox at the start of a scan. False when the scan ends here.
  boost::asio::awaitable<bool> begin_look(const Batch&);
  boost::asio::awaitable<bool> ack(std::string box, std::vector<Ack>);
  boost::asio::awaitable<void> set_torn_aside(const Batch&);
  void report(BoxState, const std::string& detail);
  void tell_worry(const std::string& detail);

  Runtime& services_;
  TeamState& context_;
  Mailbox& mailbox_;
  TeamParts& parts_;
  RoleKeeper& role_keeper_;
  Signal& chat_;
  std::function<void()> look_at_roster_;
  Receiver receiver_;
  Receiver worker_traffic_;  // messages between other members, where all of them are watched
  std::map<std::string, Receiver> others_;  // aliases, and messages from other nodes
  std::optional<std::uint64_t> read_under_;  // times_set() at the last full read of the lead's inbox; empty: not read
  std::uint64_t changed_ = 0;                // times_changed() at the last call of follow_role()
  std::string lead_;  // owner of the inbox that was read last
  std::string settle_detail_;
  InboxReport report_;
};

}  // namespace inbox_poller::poller
