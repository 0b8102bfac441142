#include "handlers/other_consumer.hpp"

#include <algorithm>

namespace inbox_poller::handlers {
namespace {

constexpr std::ptrdiff_t signs_that_convince = 2;

}  // namespace

bool are_believed(const std::vector<config::Duration>& ages) {
  return std::count_if(ages.begin(), ages.end(), [](auto age) { return age <= sign_lasts; }) >= signs_that_convince;
}

std::optional<Stance> stance_beside(config::ForeignConsumer choice) {
  switch (choice) {
    case config::ForeignConsumer::stop: return Stance::stopped;
    case config::ForeignConsumer::observe: return Stance::observer;
    case config::ForeignConsumer::ignore: break;
  }
  return std::nullopt;
}

}  // namespace inbox_poller::handlers
