// The files of a team on one machine, in one of the mailbox systems: where they are, what of them counts as taken, and
// what a person restores.
#pragma once

#include <boost/json/array.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "tests/sim/virtual_time.hpp"

namespace inbox_poller::sim {

class Machine;

/// The mailbox systems of a world.
enum class System { arrays, jsonl, maildir };
const char* name_of(System system);

class TeamFiles {
 public:
  /// `folder` has all files of the team.
  TeamFiles(Machine& machine, std::string folder) : machine_(machine), folder_(std::move(folder)) {}
  virtual ~TeamFiles() = default;
  TeamFiles(const TeamFiles&) = delete;
  TeamFiles& operator=(const TeamFiles&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// The lead's name.
  [[nodiscard]] virtual std::string lead() const = 0;
  [[nodiscard]] virtual std::string inbox(const std::string& name) const = 0;
  [[nodiscard]] virtual std::string roster() const { return folder_ + "/config.json"; }
  /// Makes what a new team has.
  virtual void make() = 0;
  /// Names the team's files in the daemon's configuration.
  virtual void configure(config::TeamConfig& config) const = 0;
  [[nodiscard]] virtual bool has_member(const std::string&) const { return true; }
  virtual void set_member(const std::string&, bool) {}
  /// Notes what the daemon has taken out of the lead's box: from then on it is the daemon's.
  virtual void note_marks() {}
  /// Adds the texts that the lead's box holds.
  virtual void read_box(std::set<std::string>&) const {}
  /// Judges the locks and the leftovers of the daemon when all is quiet.
  virtual void check() {}
  /// What is still unread; empty: nothing.
  [[nodiscard]] virtual std::string unread() const = 0;
  /// Repairs what a client tore as it died, as a person would.
  virtual void repair() {}
  /// Loses power by the dice, and notes what was lost with it.
  virtual void lose_power();

 protected:
  [[nodiscard]] std::vector<std::string> boxes() const;
  Machine& machine_;

 private:
  std::string folder_;
};

std::unique_ptr<TeamFiles> make_team_files(System system, Machine& machine, const std::string& root);

}  // namespace inbox_poller::sim
