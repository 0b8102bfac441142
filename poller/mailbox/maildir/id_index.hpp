// Which ids stand in a folder that only grows (cur/, tasks/done/): found by what names say, believed after the file was
// read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "poller/mailbox/maildir/maildir_root.hpp"

namespace inbox_poller::poller {

class IdIndex {
 public:
  IdIndex(const MaildirRoot& root, std::string below) : root_(root), below_(std::move(below)) {}

  using Fits = std::function<bool(const schema::Envelope&)>;

  /// The name of a file with that id that fits, too, when it matters which. The folder is listed at most once a second:
  /// what somebody else puts there under another name than the likely one may be seen so much later.
  Result<std::optional<std::string>> find(const std::string& id, const std::string& likely_name,
                                          const Fits& fits = {});
  /// We have put it there ourselves. Who has not listed the folder yet will find it there.
  void add(const std::string& id, const std::string& name) {
    if (listed_ != SteadyTime{}) names_[id].insert(name);
  }

 private:
  Status list();
  Result<bool> has(const std::string& id, const std::string& name, const Fits& fits) const;

  const MaildirRoot& root_;
  const std::string below_;
  std::map<std::string, std::set<std::string>> names_;  // by id
  std::set<std::string> foreign_;             // names that speak of no id, once read
  SteadyTime listed_{};
};

}  // namespace inbox_poller::poller
