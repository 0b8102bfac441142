// One table of a TOML file, read key by key. Each read checks type and limits, reports problems with their place, and
// records the effective value with its origin. A target keeps its default if its key is absent or refused. Invariant:
// only this file and config/load*.cpp use toml++.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/load.hpp"
#include "schema/error.hpp"
#include "schema/names.hpp"

namespace inbox_poller::config {

/// The problems of one file, each with its place, in the order in which the keys are read.
struct Complaints {
  std::string file;
  std::vector<std::string>& problems;

  void at(const toml::source_position& place, std::string_view what);
};

/// Returns the parsed text; an empty table and a problem if the text is not TOML.
toml::table parse_toml(std::string_view text, Complaints&);

/// Returns `"a", "b" or "c"`.
std::string quoted_list(const std::vector<std::string_view>& names);

class Section {
 public:
  /// Opens a table. `name`: "team", "modes.members" for a nested table, or empty for the top level, whose tables are
  /// separate sections. A section of the wrong type reads as empty, with a problem.
  Section(const toml::table& document, std::string name, Complaints&, std::vector<Setting>& settings);

  void text(std::string_view key, std::string& value);
  /// Reads an absolute path, or one that begins with "~/".
  void path(std::string_view key, std::string& value, std::string_view home);
  void duration(std::string_view key, Duration& value, Duration least, Duration most);
  void duration(std::string_view key, std::optional<Duration>& value, Duration least, Duration most);
  void bytes(std::string_view key, Bytes& value, Bytes least, Bytes most);
  void count(std::string_view key, std::uint32_t& value, std::uint32_t least, std::uint32_t most);
  void flag(std::string_view key, bool& value);

  /// Reads one of an enum's names.
  template <class Enum>
  void choice(std::string_view key, Enum& value) {
    std::optional<Enum> chosen = value;
    choice(key, chosen);
    value = *chosen;
  }
  template <class Enum>
  void choice(std::string_view key, std::optional<Enum>& value) {
    std::string name(value ? schema::name_of(*value) : "");
    one_of(key, name, {schema::names<Enum>.begin(), schema::names<Enum>.end()});
    if (const auto chosen = schema::parse<Enum>(name)) value = chosen;
  }
  /// Reads one of a given list of names.
  template <class T>
  void choice(std::string_view key, T& value, const std::vector<std::pair<std::string_view, T>>& choices) {
    std::string name;
    std::vector<std::string_view> names;
    for (const auto& [known, meaning] : choices) {
      names.push_back(known);
      if (meaning == value) name = known;
    }
    one_of(key, name, names);
    for (const auto& [known, meaning] : choices) {
      if (known == name) value = meaning;
    }
  }

  /// Reads a list of texts.
  void texts(std::string_view key, std::vector<std::string>& values);

  using PassOver = std::function<void(const std::string& text, const Error&)>;

  /// Reads a list of texts, each turned into a T; `parse` returns Result<T>. A refused text is a problem or, with
  /// `pass_over`, passed to that and left out.
  template <class T, class Parse>
  void list(std::string_view key, std::vector<T>& values, Parse parse, const PassOver& pass_over = {}) {
    std::vector<std::string> found;
    for_each_text(key, found, [&](const std::string& item) -> Status {
      auto value = parse(item);
      if (!value && pass_over) {
        pass_over(item, value.error());
        return Done{};
      }
      if (!value) return value.error();
      values.push_back(std::move(*value));
      return Done{};
    });
  }

  /// Returns the written keys of a section whose keys are the operator's names.
  [[nodiscard]] std::vector<std::string_view> keys() const;
  [[nodiscard]] bool is_written(std::string_view key) const { return table_->contains(key); }
  /// Returns the "file:line" of this text in a list, or of the list.
  [[nodiscard]] std::string place_of(std::string_view key, std::string_view text) const;
  /// Returns true if the key is a list, for a key that may be one.
  [[nodiscard]] bool is_list(std::string_view key) const;
  /// Returns the full name of a key: "delivery.methods".
  [[nodiscard]] std::string full_name(std::string_view key) const;

  /// Reports a value that is well-formed but not acceptable, at its place (for a default, at the section's place).
  void reject(std::string_view key, std::string_view what);
  /// Reports every key that was neither read nor is a subsection. Call after the last read.
  void finish(const std::vector<std::string_view>& subsections = {});

 private:
  void one_of(std::string_view key, std::string& name, const std::vector<std::string_view>& names);
  void for_each_text(std::string_view key, std::vector<std::string>& texts,
                     const std::function<Status(const std::string&)>& take);

  template <class T, class Parse>
  void read(std::string_view key, T& value, Parse parse);

  const toml::table* table_;
  std::string name_;
  toml::source_position place_{1, 1};
  Complaints& complaints_;
  std::vector<Setting>& settings_;
  std::vector<std::string_view> known_;
};

/// Reads [cluster] (load_cluster.cpp). Call after [team] was read.
void load_cluster(const toml::table& document, std::string_view home, Complaints&, LoadedTeam&);

/// Reads the keys of [team] for its backend (load_backend.cpp). Call after name, lead and role were read.
void load_backend(Section& team, std::string_view home, TeamSettings&);
/// Reports settings that the team's backend cannot carry. Call after all else was read.
void tell_what_is_not_carried(const toml::table& document, Complaints&, std::vector<std::string>& warnings, LoadedTeam&);
/// Parses the name of a member or another sender.
Result<std::string> sender_name(const std::string& text);

/// Returns a text in TOML syntax, with quotes and escapes.
std::string toml_text(std::string_view text);

}  // namespace inbox_poller::config
