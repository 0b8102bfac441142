// Lookups in a program's command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Returns the value of an option ("--name value" or "--name=value"); empty if the option or its value is missing.
inline std::string option_of(std::span<const std::string> arguments, std::string_view name) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == name) return i + 1 < arguments.size() ? arguments[i + 1] : std::string();
    if (word.starts_with(name) && word[name.size()] == '=') return word.substr(name.size() + 1);
  }
  return {};
}

}  // namespace inbox_poller::schema
