// A version number for changes of what persons and programs watch, by area. A watcher that looks again only after the
// number grew misses nothing. The changes themselves are not kept. Without listeners a change costs a few additions.
// Source: docs/reference/control.md, verb `changes`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "poller/clock.hpp"
#include "poller/pause.hpp"
#include "schema/names.hpp"

namespace inbox_poller::poller {

/// An area of change. `requests` includes decisions; `workers` is members and their activity; `chat` is the lead's
/// messages. `teams` is a team's state (role, lead, rules, delivery methods, files) and the list of teams.
enum class Area { requests, workers, chat, teams, shutdowns };

BOOST_DESCRIBE_ENUM(Area, requests, workers, chat, teams, shutdowns)
inline std::string_view to_string(Area area) { return schema::name_of(area); }

/// A bit set of areas.
using Areas = std::uint32_t;
constexpr Areas only(Area area) { return Areas{1} << static_cast<unsigned>(area); }
inline constexpr Areas all_areas = (Areas{1} << schema::values<Area>.size()) - 1;

class Changes {
 public:
  using Version = std::int64_t;

  /// Starts the versions at the time of the start, so that those of another process are out of range. There is room for
  /// 1,024 changes a millisecond, and all are exact in floating point.
  explicit Changes(EpochMs started_ms) : first_(started_ms * 1024), version_(first_) {}
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void raise(Areas areas);
  [[nodiscard]] Version version() const { return version_; }
  /// Returns the areas changed since a version; all areas for a version of another process.
  [[nodiscard]] Areas since(Version) const;

  /// Raises a signal at every change during its lifetime.
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
  std::array<Version, schema::values<Area>.size()> changed_{};  // by area, the last version; 0: never
  std::vector<Signal*> listeners_;
};

}  // namespace inbox_poller::poller
