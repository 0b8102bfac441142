// One table of a TOML file, read key by key: each read checks type and bounds, complains with its place, falls back to
// the default, and notes the effective value with its origin. With config/load*.cpp the only place that knows toml++.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/load.hpp"
#include "schema/error.hpp"

namespace inbox_poller::config {

/// Everything wrong with one file, each with its place, in the order of the file's keys as we read them.
class Complaints {
 public:
  Complaints(std::string file, std::vector<std::string>& problems) : file_(std::move(file)), problems_(problems) {}
  void at(const toml::source_position& place, std::string_view what);
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<std::string>& problems_;
};

/// The parsed text; an empty table and a complaint when it is not TOML.
toml::table parse_toml(std::string_view text, Complaints&);

/// ` did you mean "allow"?` when a candidate is near, ` known are …` otherwise.
std::string suggestion(std::string_view found, const std::vector<std::string_view>& candidates);

class Section {
 public:
  /// `name` is "team", or empty for the top level, whose tables are then sections of their own. A section of the wrong
  /// type reads as empty, with a complaint.
  Section(const toml::table& document, std::string name, Complaints&, std::vector<Setting>& settings);

  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  std::string text(std::string_view key, std::string_view default_value);
  /// An absolute path, or one that begins with "~/".
  std::string path(std::string_view key, std::string_view default_value, std::string_view home);
  Duration duration(std::string_view key, Duration default_value, Duration least, Duration most);
  Bytes bytes(std::string_view key, Bytes default_value, Bytes least, Bytes most);
  std::uint32_t count(std::string_view key, std::uint32_t default_value, std::uint32_t least, std::uint32_t most);

  template <class T>
  using Choices = std::vector<std::pair<std::string_view, T>>;
  template <class T>
  T choice(std::string_view key, T default_value, const Choices<T>& choices) {
    std::string_view default_name;
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) {
      names.push_back(name);
      if (value == default_value) default_name = name;
    }
    const std::string chosen = one_of(key, default_name, names);
    for (const auto& [name, value] : choices) {
      if (name == chosen) return value;
    }
    return default_value;
  }

  /// A list of texts, each turned into a T; `parse` returns Result<T>.
  template <class T>
  std::vector<T> list(std::string_view key, const std::function<Result<T>(const std::string&)>& parse) {
    std::vector<T> out;
    for_each_text(key, [&](const std::string& item) -> Status {
      auto value = parse(item);
      if (!value) return value.error();
      out.push_back(std::move(*value));
      return Done{};
    });
    return out;
  }

  /// Complains about a value that is well-formed but not acceptable, at its place (or the section's, when it is a
  /// default).
  void reject(std::string_view key, std::string_view what);
  /// To be called after the last read: complains about every key that was not read.
  void finish(const std::vector<std::string_view>& subsections = {});

 private:
  std::string one_of(std::string_view key, std::string_view default_name, const std::vector<std::string_view>& names);
  void for_each_text(std::string_view key, const std::function<Status(const std::string&)>& take);
  const toml::node* find(std::string_view key);
  void wrong_type(const toml::node& found, std::string_view key, std::string_view expected);
  void note(std::string_view key, std::string value, const toml::node* node);
  [[nodiscard]] std::string full_name(std::string_view key) const;

  template <class T>
  T measured(std::string_view key, T default_value, T least, T most, Result<T> (*parse)(std::string_view),
             std::string_view sample);

  toml::table empty_;
  const toml::table* table_ = &empty_;
  std::string name_;
  toml::source_position place_{1, 1};
  Complaints& complaints_;
  std::vector<Setting>& settings_;
  std::vector<std::string_view> known_;
};

/// A text as TOML spells it: quotes and escapes included.
std::string toml_text(std::string_view text);

}  // namespace inbox_poller::config
