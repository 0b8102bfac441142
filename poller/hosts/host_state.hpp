// What the parts of a team's service between hosts share: the lease, who leads, what other hosts told last, what is wrong.
// Everything here lives on the daemon's one decision thread.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "handlers/hosts.hpp"
#include "handlers/lease.hpp"
#include "poller/context/team_state.hpp"
#include "poller/broker/broker.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller {

/// The end of one worker, between hosts: as who leads orders it, or how far its own host is with it.
struct HostEnd {
  std::string request_id;
  std::string member;
  std::string state;   // ordered: requested, approved or forced; told: any handlers::ShutdownState, or empty: not taken
  std::string by;      // ordered: who asked for it
  std::string reason;  // ordered: what the worker was told
  std::string tasks;   // told: given back there
  std::string detail;  // told: what was left alone or is in the way, a sentence
  bool operator==(const HostEnd&) const = default;
};
/// A member that was taken out of the team: its name, and when it had joined as its host told it.
using Removed = std::map<std::string, long long>;

/// What a host told of itself last.
struct SeenHost {
  std::string version;
  bool leads = false;
  long long queued = 0;     // letters that wait there to be put
  EpochMs oldest_ms = 0;    // since when the oldest of them waits, by its clock; 0: none
  std::map<std::string, schema::Member> members;  // who lives there, as its roster has them
  std::int64_t epoch = 0;       // with `leads`: under which it leads
  std::vector<HostEnd> orders;  // likewise: workers of others that are to end
  Removed removed;              // likewise: who was taken out of the team
  std::vector<HostEnd> ends;    // how far it is with what it was ordered
  EpochMs heard_ms = 0;     // when we read it last
};

/// What became of letters and is written with the next transaction about letters, at the latest with a beat: lost by a
/// crash, it happens once more and changes nothing.
struct LateMarks {
  std::set<long long> there;     // for the lead: in the journal
  std::vector<long long> told;   // that it is there was told,
  std::vector<long long> ended;  // or how it ended
};

class HostState {
 public:
  explicit HostState(TeamState& the_context) : context(the_context), settings(the_context.config.hosts) {}

  TeamState& context;
  const config::HostsSettings settings;
  handlers::Lease lease;
  std::string leader;      // the host that leads, as we heard last; empty: nobody does
  std::int64_t epoch = 0;  // the highest that we know
  std::map<std::string, SeenHost> seen;
  std::uint64_t roster_version = 0;  // grows when what others tell of their members changes
  std::string trouble;               // with the engine, a sentence; empty: none
  EpochMs trouble_ms = 0;            // since when
  std::string full;                  // why mail is left where it is; empty: it is not
  Signal work;                       // raised when there is something to put
  Signal went;                       // raised when some of it went
  std::vector<HostEnd> orders;       // ours, for workers elsewhere, while we lead
  std::vector<HostEnd> ends;         // ours, of what we were ordered
  Removed removed;                   // as our ledger has it
  std::uint64_t telling = 0;         // grows when the three above change
  LateMarks late;
  std::set<long long> under_way;     // letters that are being put, and are not taken back any more
  /// False: a letter for a worker here is not to be filed yet.
  std::function<bool(const HostMailRow&)> may_file = [](const HostMailRow&) { return true; };
  std::function<void()> wake = [] {};  // the team is to look soon

  /// One unit of work about letters, with the late marks before it. It is a fact, whoever leads.
  Status commit(const Work& work);
  /// The late marks alone.
  Status write_late_marks() { return commit([](Tx&) {}); }
  /// Never jumps, and counts while the machine sleeps.
  [[nodiscard]] handlers::Moment now() const { return handlers::Moment(context.clock.wall_ms()); }
  /// The lead is here, and may decide.
  [[nodiscard]] bool leading() const { return handlers::may_decide(lease, now()); }
  [[nodiscard]] bool is_elsewhere(std::string_view member) const {
    return handlers::is_elsewhere(settings, member, context.lead, leading());
  }
  /// The stream that a letter to this member goes into.
  [[nodiscard]] std::string stream_for(std::string_view member) const {
    const auto host = handlers::host_for(settings, member, context.lead);
    return host.empty() ? std::string(lead_address) : host_address(host);
  }
  /// Whether this member was taken out, and has not joined again since.
  [[nodiscard]] bool is_removed(const std::string& member, long long joined_ms) const {
    const auto found = removed.find(member);
    return found != removed.end() && joined_ms <= found->second;
  }
  /// What the host that leads now told last; null when that is us, nobody, or none that may.
  [[nodiscard]] const SeenHost* who_leads() const;
  /// What is told of workers that are to end.
  void tell_ends(std::vector<HostEnd> the_orders, std::vector<HostEnd> the_ends);
  /// Tells what is wrong with the engine, once for each sentence; empty: it works.
  void tell_trouble(const std::string& now_wrong);
  /// With the engine's name, where the error does not have it.
  void tell_trouble(const Error& problem, const std::string& engine) {
    tell_trouble(problem.message.find(engine) == std::string::npos ? engine + ": " + problem.message : problem.message);
  }
  /// Somebody else leads, as the engine says.
  void fenced(std::int64_t by);
};

}  // namespace inbox_poller::poller
