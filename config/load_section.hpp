// One table of a TOML file, read key by key: each read checks type and bounds, complains with its place, and notes the
// effective value with its origin. A target keeps its value, the default, when its key is absent or refused. With
// config/load*.cpp the only place that knows toml++.
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

/// Everything wrong with one file, each with its place, in the order of the file's keys as we read them.
struct Complaints {
  std::string file;
  std::vector<std::string>& problems;

  void at(const toml::source_position& place, std::string_view what);
};

/// The parsed text; an empty table and a complaint when it is not TOML.
toml::table parse_toml(std::string_view text, Complaints&);

/// `"a", "b" or "c"`.
std::string quoted_list(const std::vector<std::string_view>& names);

class Section {
 public:
  /// `name` is "team", "modes.members" for a table within one, or empty for the top level, whose tables are then
  /// sections of their own. A section of the wrong type reads as empty, with a complaint.
  Section(const toml::table& document, std::string name, Complaints&, std::vector<Setting>& settings);

  void text(std::string_view key, std::string& value);
  /// An absolute path, or one that begins with "~/".
  void path(std::string_view key, std::string& value, std::string_view home);
  void duration(std::string_view key, Duration& value, Duration least, Duration most);
  void duration(std::string_view key, std::optional<Duration>& value, Duration least, Duration most);
  void bytes(std::string_view key, Bytes& value, Bytes least, Bytes most);
  void count(std::string_view key, std::uint32_t& value, std::uint32_t least, std::uint32_t most);
  void flag(std::string_view key, bool& value);

  /// One of an enum's names.
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
  /// The same in an order, or in words, of its own.
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

  /// A list of texts as they are.
  void texts(std::string_view key, std::vector<std::string>& values);

  using PassOver = std::function<void(const std::string& text, const Error&)>;

  /// A list of texts, each turned into a T; `parse` returns Result<T>. What it refuses is a complaint, or, with
  /// `pass_over`, handed to that and left out.
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

  /// What is written there: for a section whose keys are names of the operator's choice, and to see whether it is used.
  [[nodiscard]] std::vector<std::string_view> keys() const;
  [[nodiscard]] bool is_written(std::string_view key) const { return table_->contains(key); }
  /// "file:line" of this text in a list, or of the list.
  [[nodiscard]] std::string place_of(std::string_view key, std::string_view text) const;
  /// Whether a list is written there, for a key that may be one.
  [[nodiscard]] bool is_list(std::string_view key) const;
  /// "delivery.via"
  [[nodiscard]] std::string full_name(std::string_view key) const;

  /// Complains about a value that is well-formed but not acceptable, at its place (or the section's, when it is a
  /// default).
  void reject(std::string_view key, std::string_view what);
  /// To be called after the last read: complains about every key that was neither read nor is a subsection.
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

/// Reads [hosts] (load_hosts.cpp); [team] has been read.
void load_hosts(const toml::table& document, std::string_view home, Complaints&, LoadedTeam&);

/// Reads what of [team] its transport needs (load_transport.cpp); name, lead and role have been read.
void load_transport(Section& team, std::string_view home, TeamSettings&);
/// What is set and cannot be carried by the team's transport; all else has been read.
void tell_what_is_not_carried(const toml::table& document, Complaints&, std::vector<std::string>& warnings, LoadedTeam&);
/// Of a member, or of somebody who writes.
Result<std::string> sender_name(const std::string& text);

/// A text as TOML spells it: quotes and escapes included.
std::string toml_text(std::string_view text);

}  // namespace inbox_poller::config
