#include "config/load_section.hpp"

#include <algorithm>
#include <sstream>

#include "config/text.hpp"
#include "config/units.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::config {
namespace {

std::string describe(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::none: return "nothing";
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "the number " + std::to_string(node.as_integer()->get());
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return node.as_boolean()->get() ? "true" : "false";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time: return "a date or time";
  }
  return "something else";
}

Error wrong_type(const toml::node& found, std::string_view expected) {
  return {"config.type", "is " + describe(found) + "; write " + std::string(expected)};
}

using config::to_text;
std::string to_text(std::int64_t number) { return std::to_string(number); }

template <class T>
Result<T> bounded(T found, T least, T most) {
  if (least <= found && found <= most) return found;
  return Error{"config.bounds",
               "is " + to_text(found) + "; it must be from " + to_text(least) + " to " + to_text(most)};
}

template <class T>
Result<T> measured(const toml::node& node, T example, T least, T most, Result<T> (*parse)(std::string_view)) {
  if (!node.is_string()) return wrong_type(node, "it with a unit, in quotes, such as " + toml_text(to_text(example)));
  const Result<T> found = parse(node.as_string()->get());
  if (!found) return Error{"config.unit", "= " + found.error().message};
  return bounded(*found, least, most);
}

// The effective value's form in the list of settings.
std::string shown(const std::string& text) { return toml_text(text); }
std::string shown(Duration duration) { return toml_text(to_text(duration)); }
std::string shown(const std::optional<Duration>& duration) { return duration ? shown(*duration) : toml_text(""); }
std::string shown(bool flag) { return flag ? "true" : "false"; }
std::string shown(Bytes bytes) { return toml_text(to_text(bytes)); }
std::string shown(std::uint32_t number) { return std::to_string(number); }
std::string shown(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + toml_text(text);
  return "[" + list + "]";
}

// Keys of versions before the first release. Remove with 0.2.
constexpr std::pair<std::string_view, std::string_view> renamed[] = {
    {"team.transport", "team.backend"},
    {"team.engine", "team.redis_url"},
    {"team.foreign_consumer", "team.on_competing_consumer"},
    {"team.silent_after", "team.unresponsive_after"},
    {"team.i_understand", "team.accept_risks"},
    {"permissions.ask_rules", "permissions.ask"},
    {"sandbox.ask_rules", "sandbox.ask"},
    {"plans.ask", "plans.approver"},
    {"plans.loop_limit", "plans.max_resubmissions"},
    {"modes.adopt_within", "modes.apply_timeout"},
    {"shutdown.ask", "shutdown.approver"},
    {"shutdown.nudge_after", "shutdown.remind_after"},
    {"delivery.via", "delivery.methods"},
    {"delivery.busy_limit", "delivery.busy_timeout"},
    {"delivery.presumed_busy", "delivery.assume_busy_for"},
    {"delivery.max_wait", "delivery.max_delay"},
    {"delivery.urgent_max_wait", "delivery.urgent_max_delay"},
    {"delivery.senders", "delivery.allowed_senders"},
    {"person", "approver"},
    {"tasks.on_done", "tasks.done_command"},
    {"tasks.on_done_timeout", "tasks.done_timeout"},
    {"hosts", "cluster"},
    {"limits.torn_polls", "limits.quarantine_after_polls"},
};

/// Names the present key of a renamed one, or the nearest known key, before the known keys.
std::string what_instead(const std::string& name, std::string_view key, const std::vector<std::string_view>& known) {
  for (const auto& [before, now] : renamed)
    if (name == before) return "its name is " + std::string(now) + " now";
  const std::string meant = schema::nearest(key, {known.begin(), known.end()});
  return (meant.empty() ? "" : "did you mean \"" + meant + "\"? ") + ("known are " + quoted_list(known));
}

}  // namespace

std::string quoted_list(const std::vector<std::string_view>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out.append("\"").append(names[i]).append("\"");
  }
  return out;
}

void Complaints::at(const toml::source_position& place, std::string_view what) {
  problems.push_back(file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
                     std::string(what));
}

toml::table parse_toml(std::string_view text, Complaints& complaints) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const bool is_word = error.description().find("parsing boolean") != std::string_view::npos;
    complaints.at(error.source().begin, "this is not TOML: " + std::string(error.description()) +
                                            (is_word ? "; a text stands in double quotes, as in name = \"farm\"" : ""));
    return {};
  }
}

std::string toml_text(std::string_view text) {
  std::ostringstream out;
  const toml::value<std::string> value{std::string(text)};
  out << toml::toml_formatter{value, toml::format_flags::allow_unicode_strings};
  return out.str();
}

Section::Section(const toml::table& document, std::string name, Complaints& complaints, std::vector<Setting>& settings)
    : name_(std::move(name)), complaints_(complaints), settings_(settings) {
  static const toml::table nothing;
  const toml::node* node = name_.empty() ? &document : document.at_path(name_).node();
  table_ = node != nullptr && node->is_table() ? node->as_table() : &nothing;
  if (node == nullptr) return;
  if (node->source().begin) place_ = node->source().begin;
  if (!node->is_table()) {
    complaints_.at(place_, name_ + " is " + describe(*node) + "; write it as a section, [" + name_ + "]");
  }
}

std::string Section::full_name(std::string_view key) const {
  return (name_.empty() ? "" : name_ + ".") + std::string(key);
}

void Section::reject(std::string_view key, std::string_view what) {
  const toml::node* node = table_->get(key);
  complaints_.at(node == nullptr ? place_ : node->source().begin, full_name(key) + " " + std::string(what));
}

/// Reads one key; the only way to do so. `parse` turns the node into a T or returns what is wrong.
template <class T, class Parse>
void Section::read(std::string_view key, T& value, Parse parse) {
  known_.push_back(key);
  std::string origin = "default";
  if (const toml::node* node = table_->get(key)) {
    Result<T> found = parse(*node);
    if (!found) reject(key, found.error().message);
    if (found) value = std::move(*found);
    origin = complaints_.file + ":" + std::to_string(node->source().begin.line);
  }
  settings_.push_back({full_name(key), shown(value), std::move(origin)});
}

void Section::text(std::string_view key, std::string& value) {
  read(key, value, [](const toml::node& node) -> Result<std::string> {
    if (!node.is_string()) return wrong_type(node, "a text in quotes");
    const std::string& found = node.as_string()->get();
    if (const auto odd = find_odd_character(found, LineBreaks::refused)) {
      return Error{"config.text", "contains " + *odd};
    }
    return found;
  });
}

void Section::path(std::string_view key, std::string& value, std::string_view home) {
  text(key, value);
  if (value.starts_with("~/")) {
    if (home.empty()) reject(key, "begins with \"~/\", but HOME is not set; write an absolute path");
    value = std::string(home) + value.substr(1);
    settings_.back().value = shown(value);
  }
  if (!value.empty() && value.front() != '/') reject(key, "is not absolute; begin it with \"/\" or \"~/\"");
}

void Section::duration(std::string_view key, Duration& value, Duration least, Duration most) {
  read(key, value, [&](const toml::node& node) { return measured(node, value, least, most, parse_duration); });
}

void Section::duration(std::string_view key, std::optional<Duration>& value, Duration least, Duration most) {
  read(key, value, [&](const toml::node& node) -> Result<std::optional<Duration>> {
    const auto found = measured(node, value.value_or(least), least, most, parse_duration);
    return found ? Result<std::optional<Duration>>(*found) : found.error();
  });
}

void Section::bytes(std::string_view key, Bytes& value, Bytes least, Bytes most) {
  read(key, value, [&](const toml::node& node) { return measured(node, value, least, most, parse_bytes); });
}

void Section::flag(std::string_view key, bool& value) {
  read(key, value, [](const toml::node& node) -> Result<bool> {
    if (!node.is_boolean()) return wrong_type(node, "true or false, without quotes");
    return node.as_boolean()->get();
  });
}

void Section::count(std::string_view key, std::uint32_t& value, std::uint32_t least, std::uint32_t most) {
  read(key, value, [&](const toml::node& node) -> Result<std::uint32_t> {
    if (!node.is_integer()) return wrong_type(node, "a whole number without quotes");
    TRY(const auto found, bounded<std::int64_t>(node.as_integer()->get(), least, most));
    return static_cast<std::uint32_t>(found);
  });
}

void Section::one_of(std::string_view key, std::string& name, const std::vector<std::string_view>& names) {
  read(key, name, [&](const toml::node& node) -> Result<std::string> {
    if (!node.is_string()) return wrong_type(node, quoted_list(names));
    const std::string& found = node.as_string()->get();
    if (std::ranges::find(names, found) != names.end()) return found;
    return Error{"config.choice", "is " + toml_text(found) + "; it must be " + quoted_list(names)};
  });
}

void Section::texts(std::string_view key, std::vector<std::string>& values) {
  for_each_text(key, values, [](const std::string&) -> Status { return Done{}; });
}

void Section::for_each_text(std::string_view key, std::vector<std::string>& texts,
                            const std::function<Status(const std::string&)>& take) {
  read(key, texts, [&](const toml::node& node) -> Result<std::vector<std::string>> {
    if (!node.is_array()) return wrong_type(node, "a list of texts, such as [\"…\", \"…\"]");
    std::vector<std::string> found;
    for (const toml::node& item : *node.as_array()) {
      const auto complain = [&](const std::string& what) {
        complaints_.at(item.source().begin, full_name(key) + what);
      };
      if (!item.is_string()) {
        complain(" holds " + describe(item) + "; every entry must be a text in quotes");
        continue;
      }
      found.push_back(item.as_string()->get());
      if (const auto taken = take(found.back()); !taken) complain(": " + taken.error().message);
    }
    return found;
  });
}

std::vector<std::string_view> Section::keys() const {
  std::vector<std::string_view> keys;
  for (const auto& [key, node] : *table_) keys.push_back(key.str());
  return keys;
}

std::string Section::place_of(std::string_view key, std::string_view text) const {
  const toml::node* node = table_->get(key);
  if (node == nullptr) return complaints_.file;
  auto line = node->source().begin.line;
  if (const toml::array* list = node->as_array()) {
    for (const toml::node& item : *list)
      if (item.is_string() && item.as_string()->get() == text) line = item.source().begin.line;
  }
  return complaints_.file + ":" + std::to_string(line);
}

bool Section::is_list(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node != nullptr && node->is_array();
}

void Section::finish(const std::vector<std::string_view>& subsections) {
  const std::string_view kind = known_.empty() ? "section" : "setting";
  known_.insert(known_.end(), subsections.begin(), subsections.end());
  for (const auto& [key, node] : *table_) {
    if (std::ranges::find(known_, key.str()) != known_.end()) continue;
    const auto place = key.source().begin ? key.source().begin : node.source().begin;
    const std::string name = full_name(key.str());
    complaints_.at(place, name + " is not a " + std::string(kind) + "; " + what_instead(name, key.str(), known_));
  }
}

}  // namespace inbox_poller::config
