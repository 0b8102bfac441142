// That something changed of what a person or a program looks at, and of which sort: one number for all of it, so that
// who looks again only when it has grown misses nothing. Nothing is kept of the changes themselves. Without anybody who
// listens a change costs a few additions. Source: docs/reference/control.md, verb `changes`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "poller/clock.hpp"
#include "poller/pause.hpp"
#include "schema/names.hpp"

namespace inbox_poller::poller {

/// What changes: open asks and decisions; members and what they do; messages for the lead; how a team stands (its role,
/// lead, rules, ways, files), and which are served; the ending of workers.
enum class Area { asks, workers, chat, teams, shutdowns };

BOOST_DESCRIBE_ENUM(Area, asks, workers, chat, teams, shutdowns)
inline std::string_view to_string(Area area) { return schema::name_of(area); }

/// A set of areas.
using Areas = std::uint32_t;
constexpr Areas only(Area area) { return Areas{1} << static_cast<unsigned>(area); }
inline constexpr Areas all_areas = (Areas{1} << schema::values<Area>.size()) - 1;

class Changes {
 public:
  using Version = std::int64_t;

  /// Versions of another process are none of ours: they begin with the moment of the start, with room for a thousand
  /// changes a millisecond, and stay whole numbers for who reads them as floating point.
  explicit Changes(EpochMs started_ms) : first_(started_ms * 1024), version_(first_) {}
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void raise(Areas areas);
  [[nodiscard]] Version version() const { return version_; }
  /// What has changed since then: everything, where the version is none of ours.
  [[nodiscard]] Areas since(Version) const;

  /// Raises a signal with every change, as long as it lives.
  class Listener {
   public:
    Listener(Changes& changes, Signal& signal);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    Changes& changes_;
    Signal& signal_;
  };
  [[nodiscard]] std::size_t listeners() const { return listeners_.size(); }

 private:
  const Version first_;
  Version version_;
  std::array<Version, schema::values<Area>.size()> changed_{};  // each area's last one; 0 where there was none
  std::vector<Signal*> listeners_;
};

}  // namespace inbox_poller::poller
