// The files of a team with array inboxes: `inboxes/NAME.json` and the roster.
#pragma once

#include <map>
#include <set>
#include <string>

#include "tests/sim/team_files.hpp"

namespace inbox_poller::sim {

class ArraysFiles final : public TeamFiles {
 public:
  using TeamFiles::TeamFiles;
  [[nodiscard]] std::string lead() const override { return "team-lead"; }
  [[nodiscard]] std::string inbox(const std::string& name) const override {
    return folder() + "/inboxes/" + name + ".json";
  }
  void make() override;
  void configure(config::TeamConfig&) const override {}
  [[nodiscard]] bool has_member(const std::string& name) const override;
  void set_member(const std::string& name, bool is_member) override;
  void note_marks() override;
  void read_box(std::set<std::string>& texts) const override;
  void check() override;
  [[nodiscard]] std::string unread() const override;
  void repair() override;

 private:
  std::string seen_lead_box_;
  std::set<std::string> noted_;  // texts that were marked as read
  std::map<std::string, bool> wanted_;  // members, as the roster shall have them
};

}  // namespace inbox_poller::sim
