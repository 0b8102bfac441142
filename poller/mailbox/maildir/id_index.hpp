// Index of the ids in a folder that only grows (cur/, tasks/done/). The file names give candidates; a match counts only
// after the file was read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "poller/mailbox/maildir/maildir_root.hpp"

namespace inbox_poller::poller {

/// Index of one folder, in memory. Keeps a reference to `root`, which must outlive it.
class IdIndex {
 public:
  IdIndex(const MaildirRoot& root, std::string below) : root_(root), below_(std::move(below)) {}

  /// Predicate that tells files of equal id apart.
  using Fits = std::function<bool(const schema::Envelope&)>;

  /// Returns the name of a file with this id that also satisfies `fits`; empty if there is none. The folder is listed
  /// at most once a second, so another process's file with an unlikely name may be found 1 s late. Errors: "io.…".
  Result<std::optional<std::string>> find(const std::string& id, const std::string& likely_name,
                                          const Fits& fits = {});
  /// Records a file that this process put there. Before the first listing the call does nothing: the listing finds it.
  void add(const std::string& id, const std::string& name) {
    if (listed_ != SteadyTime{}) names_[id].insert(name);
  }

 private:
  Status list();
  Result<bool> has(const std::string& id, const std::string& name, const Fits& fits) const;

  const MaildirRoot& root_;
  const std::string below_;
  std::map<std::string, std::set<std::string>> names_;  // by id
  std::set<std::string> foreign_;             // names without an id, of files that were read
  SteadyTime listed_{};
};

}  // namespace inbox_poller::poller
