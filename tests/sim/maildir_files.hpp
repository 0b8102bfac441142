// The files of a folder that agents share: mailboxes `NAME/new` and `NAME/cur`, and a task queue. All names are renamed into
// their places. Nobody takes a lock.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/sim/team_files.hpp"

namespace inbox_poller::sim {

class MaildirFiles final : public TeamFiles {
 public:
  using TeamFiles::TeamFiles;
  [[nodiscard]] std::string lead() const override { return "lead"; }
  [[nodiscard]] std::string inbox(const std::string& name) const override { return folder() + "/" + name + "/new"; }
  [[nodiscard]] std::string taken(const std::string& name) const { return folder() + "/" + name + "/cur"; }
  [[nodiscard]] std::string tasks(const std::string& place) const { return folder() + "/tasks/" + place; }
  void make() override;
  void configure(config::TeamConfig& config) const override;
  void check() override;
  [[nodiscard]] std::string unread() const override;
  void repair() override;
  void lose_power() override;

  /// A letter that its writer left half written; `whole` is what it should have been. A person completes it.
  void add_torn(const std::string& path, std::string whole, std::function<void()> done) {
    torn_[path] = {std::move(whole), std::move(done)};
  }
  /// A task that was posted: it must not get lost.
  void add_task(const std::string& id) { posted_.insert(id); }

 private:
  /// All tasks that the queue has, by id, with their places.
  [[nodiscard]] std::map<std::string, std::string> tasks_there() const;
  /// The letters to the lead that are there, by id.
  [[nodiscard]] std::map<std::string, std::string> letters_there() const;
  struct Torn {
    std::string whole;
    std::function<void()> done;
  };
  std::map<std::string, Torn> torn_;  // by path
  std::set<std::string> posted_;
};

/// The text that a lead gets of a letter; empty for bytes that are none.
std::string told_of_letter(const std::string& bytes);

}  // namespace inbox_poller::sim
