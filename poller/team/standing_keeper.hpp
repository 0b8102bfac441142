// Whether we consume the lead's inbox alone, and what we are in the team when we do not: what another consumer, a lead's
// living client, another host and a person make of our standing. The rules are handlers/other_consumer.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/context/client_sessions.hpp"
#include "poller/context/team_state.hpp"
#include "poller/delivery/delivery.hpp"
#include "poller/hosts/cluster_member.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/team/asks.hpp"

namespace inbox_poller::poller {

/// What another consumer did with the lead's inbox since we began to watch it.
struct Watched {
  std::uint64_t consumed = 0;
  std::uint64_t waiting = 0;
  EpochMs oldest_waiting_ms = 0;  // when the oldest waiting one was first seen; 0: none waits
  EpochMs longest_ms = 0;         // the longest that one waited
};

class StandingKeeper {
 public:
  /// `hosts`: null where the team has one host.
  StandingKeeper(TeamState& context, const Mailbox& mailbox, ClusterMember* hosts, const Asks& asks, Delivery& delivery,
                 FileSystem& files, Processes& processes);

  /// What the lead or somebody else did with the lead's inbox since the last look.
  void observe_consumers(const Batch&);
  /// There is no such inbox.
  void check_lead_inbox();
  /// A client that says in the roster that it leads the team, and lives, reads the lead's inbox itself.
  void check_lead_process();
  /// Likewise one that made the team, going by the file that it keeps of its session; and what that says of its turns.
  void check_lead_session();
  /// Whether the team is led from this host now. `retired`: nobody serves it any more.
  void follow_lease(bool retired);
  /// Back to the configured role after another consumer stopped us. A lead that lives is not heeded any more.
  Status resume();
  /// Another configuration: who lives is looked at anew.
  void forget_claim() { claim_.clear(); }

  /// Nobody else reads the lead's inbox, as far as we have seen.
  [[nodiscard]] bool is_alone() const;
  [[nodiscard]] const Watched& watched() const { return watched_; }
  /// The living session of the lead, as its client tells of it; none where it is not told.
  [[nodiscard]] const std::optional<LiveSession>& lead_session() const { return session_.live(); }

  /// How often we took a standing, also the same again: the lead's inbox is then read although it does not change.
  [[nodiscard]] std::uint64_t times_stood() const { return times_stood_; }
  /// How often we became another reader of it: then what is still unread is shown again.
  [[nodiscard]] std::uint64_t times_changed() const { return times_changed_; }

 private:
  void foreign_consumer(std::string code, std::size_t count);
  /// Somebody else consumes the lead's inbox: does as configured.
  void give_way(const std::string& reason);
  /// A client that leads the team lives, so it reads the lead's inbox. `who` begins a sentence and says what shows it.
  void give_way_to_lead(std::string_view code, const std::string& who);
  void stand(handlers::Membership);
  /// Whether a person said that we lead beside this client.
  [[nodiscard]] bool is_accepted(const std::string& claim) const;
  [[nodiscard]] std::string inbox_path() const { return mailbox_.place_of(context_.lead); }

  TeamState& context_;
  const Mailbox& mailbox_;
  ClusterMember* hosts_;
  const Asks& asks_;
  Delivery& delivery_;
  Processes& processes_;
  SessionWatch session_;
  std::string claim_;  // of a lead's client, that was heeded
  std::vector<SteadyTime> signs_;
  Watched watched_;
  std::uint64_t times_stood_ = 0;
  std::uint64_t times_changed_ = 0;
};

}  // namespace inbox_poller::poller
