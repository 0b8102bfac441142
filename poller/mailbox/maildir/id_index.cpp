#include "poller/mailbox/maildir/id_index.hpp"

#include <cerrno>

namespace inbox_poller::poller {

Status IdIndex::list() {
  const SteadyTime now = root_.clock().steady();
  if (listed_ != SteadyTime{} && now - listed_ < std::chrono::seconds(1)) return Done{};
  TRY(const auto names, root_.names(below_));
  for (const std::string& name : names) {
    if (const std::string id = schema::id_hinted_by(name); !id.empty()) {
      names_[id].insert(name);
    } else if (!foreign_.contains(name)) {
      const Result<Directory> folder = root_.folder(below_);
      const Result<Letterfile> file = folder ? root_.read(*folder, name) : Result<Letterfile>(folder.error());
      if (!file) continue;
      names_[schema::identity_of(file->envelope)].insert(name);
      foreign_.insert(name);
    }
  }
  listed_ = now;
  return Done{};
}

Result<bool> IdIndex::has(const std::string& id, const std::string& name, const Fits& fits) const {
  const Result<Directory> folder = root_.folder(below_);
  const Result<Letterfile> file = folder ? root_.read(*folder, name) : Result<Letterfile>(folder.error());
  if (file) return schema::identity_of(file->envelope) == id && (!fits || fits(file->envelope));
  const bool told = is_errno(file.error(), ENOENT) || !file.error().code.starts_with("io.");
  return told ? Result<bool>(false) : Result<bool>(file.error());
}

Result<std::optional<std::string>> IdIndex::find(const std::string& id, const std::string& likely_name,
                                                 const Fits& fits) {
  TRY(const auto likely, has(id, likely_name, fits));
  if (likely) return std::optional(likely_name);
  TRY(list());
  const auto found = names_.find(id);
  if (found == names_.end()) return std::optional<std::string>();
  for (const std::string& name : found->second) {  // a name may be wrong, and several files may have one id
    TRY(const auto there, has(id, name, fits));
    if (there) return std::optional(name);
  }
  return std::optional<std::string>();
}

}  // namespace inbox_poller::poller
