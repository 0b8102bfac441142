// The texts of the rows' enumerations, and of lists of numbers, as the tables have them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/ledger/rows.hpp"

namespace inbox_poller::poller {

template <class Value>
std::optional<Value> parse(std::string_view text, std::initializer_list<Value> values) {
  const auto* found = std::find_if(values.begin(), values.end(), [&](Value value) { return to_string(value) == text; });
  return found == values.end() ? std::nullopt : std::optional(*found);
}

std::optional<Disposition> parse_disposition(std::string_view);
std::optional<DeliveryState> parse_delivery_state(std::string_view);
std::optional<EffectState> parse_effect_state(std::string_view);

/// `[1,2,3]`, for json_each: one statement for any number of rows.
std::string json_list(const std::vector<long long>& ids);

}  // namespace inbox_poller::poller
