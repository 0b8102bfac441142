// Finds the approval requests that the ids of one control request mean (docs/adr/0036): whole ids, message keys, or
// prefixes. Results are cached for further ids of that control request; nothing is changed meanwhile.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "poller/team/team.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

class RequestFinder {
 public:
  using Found = std::pair<std::string, handlers::Request>;  // with the name of its team

  /// Conditions for all ids of the control request; empty: any.
  struct Of {
    std::string team;
    std::string kind;
    std::string message_key;  // of the approval request as shown
    bool shown = false;       // true when the ids are whole, as shown
  };

  RequestFinder(std::vector<std::shared_ptr<Team>> served, Ledger&, EpochMs now, Of);

  /// Finds the one open or decided request that is meant. Errors: "request.unknown", "request.ambiguous" with all
  /// candidates, "request.changed", "role.not_leader", ledger.*.
  Result<Found> find(const std::string& id);

 private:
  /// Open requests by whole id and by whole key.
  const std::map<std::string, std::vector<Found>, std::less<>>& shown();
  /// Finds requests with this whole id, or with a message of this key.
  Result<std::vector<Found>> whole(const std::string& id);
  /// Finds open requests with a longer id or key of this prefix. `decided_too` adds those decided within the hour,
  /// because a person may still mean them.
  Result<std::vector<Found>> beginning(const std::string& id, bool decided_too);
  /// True when this id or prefix belongs to a request of a worker here while another node leads.
  bool went_elsewhere(const std::string& id);
  [[nodiscard]] bool is_served(const std::string& team) const;

  std::vector<std::shared_ptr<Team>> served_;
  Ledger& ledger_;
  const EpochMs now_;
  const Of of_;
  std::optional<std::map<std::string, std::vector<Found>, std::less<>>> shown_;
  std::optional<std::vector<Found>> decided_;
};

}  // namespace inbox_poller::poller
