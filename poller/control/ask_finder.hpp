// Which asks the ids of one request of the control socket mean (docs/adr/0037): whole ids, keys of messages, beginnings.
// What was looked up for one id is kept for the next ones; nothing is changed meanwhile.
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

class AskFinder {
 public:
  using Found = std::pair<std::string, handlers::Ask>;  // with its team

  /// What goes for all ids of the request; empty: any.
  struct Of {
    std::string team;
    std::string kind;
    std::string message_key;  // of the ask as it was shown
    bool shown = false;       // the ids are whole, as they were shown
  };

  AskFinder(std::vector<std::shared_ptr<Team>> served, Ledger&, EpochMs now, Of);

  /// The one ask that is meant, open or decided. Errors: "request.unknown", "request.ambiguous" with all candidates,
  /// "request.changed".
  Result<Found> find(const std::string& id);

 private:
  /// Open asks by whole id and by whole key.
  const std::map<std::string, std::vector<Found>, std::less<>>& shown();
  /// Those with this whole id, or whose message has this key.
  Result<std::vector<Found>> whole(const std::string& id);
  /// Asks whose id or key begins so and goes on: open ones, and with `decided_too` those decided within the hour, which
  /// a person who gives the beginning may still mean.
  Result<std::vector<Found>> beginning(const std::string& id, bool decided_too);
  /// It, or what begins so, is of a worker here, and another host leads.
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
