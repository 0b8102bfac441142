#include "poller/changes.hpp"

namespace inbox_poller::poller {

void Changes::raise(Areas areas) {
  if (areas == 0) return;
  ++version_;
  for (const Area area : schema::values<Area>)
    if ((areas & only(area)) != 0) changed_[static_cast<std::size_t>(area)] = version_;
  for (Signal* signal : listeners_) signal->raise();
}

Areas Changes::since(Version seen) const {
  if (seen < first_ || seen > version_) return all_areas;
  Areas areas = 0;
  for (const Area area : schema::values<Area>)
    if (changed_[static_cast<std::size_t>(area)] > seen) areas |= only(area);
  return areas;
}

Changes::Listener::Listener(Changes& changes, Signal& signal) : changes_(changes), signal_(signal) {
  changes_.listeners_.push_back(&signal_);
}

Changes::Listener::~Listener() { std::erase(changes_.listeners_, &signal_); }

}  // namespace inbox_poller::poller
