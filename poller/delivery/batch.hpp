// Shared helpers for the ids, keys and log fields of a batch of messages. Private to delivery/.
#pragma once

#include <string>
#include <vector>

#include "poller/context/team_state.hpp"
#include "poller/delivery/sinks.hpp"

namespace inbox_poller::poller {

inline std::vector<long long> ids_of(const std::vector<LeasedMessage>& messages) {
  std::vector<long long> ids;
  ids.reserve(messages.size());
  for (const auto& message : messages) ids.push_back(message.id);
  return ids;
}

inline std::vector<std::string> keys_of(const std::vector<LeasedMessage>& messages) {
  std::vector<std::string> keys;
  keys.reserve(messages.size());
  for (const auto& message : messages) keys.push_back(message.key.value);
  return keys;
}

inline Fields fields_of(const TeamState& context, const schema::MessageKey& key, const std::string& from,
                        const std::string& method) {
  return {{"team", context.name}, {"message_key", key.value}, {"from", from}, {"method", method}};
}

}  // namespace inbox_poller::poller
