#include "config/load_section.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "config/text.hpp"
#include "config/units.hpp"

namespace inbox_poller::config {
namespace {

/// Number of single-character edits between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string quoted_list(const std::vector<std::string_view>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out.append("\"").append(names[i]).append("\"");
  }
  return out;
}

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

}  // namespace

void Complaints::at(const toml::source_position& place, std::string_view what) {
  problems_.push_back(file_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
                      std::string(what));
}

toml::table parse_toml(std::string_view text, Complaints& complaints) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    complaints.at(error.source().begin, "this is not TOML: " + std::string(error.description()));
    return {};
  }
}

std::string suggestion(std::string_view found, const std::vector<std::string_view>& candidates) {
  if (candidates.empty()) return "";
  const auto nearest = *std::min_element(candidates.begin(), candidates.end(), [found](auto a, auto b) {
    return edit_distance(found, a) < edit_distance(found, b);
  });
  const bool near = edit_distance(found, nearest) <= std::max<std::size_t>(1, nearest.size() / 3);
  return near ? "; did you mean \"" + std::string(nearest) + "\"?" : "; known are " + quoted_list(candidates);
}

std::string toml_text(std::string_view text) {
  std::ostringstream out;
  const toml::value<std::string> value{std::string(text)};
  out << toml::toml_formatter{value, toml::format_flags::allow_unicode_strings};
  return out.str();
}

Section::Section(const toml::table& document, std::string name, Complaints& complaints, std::vector<Setting>& settings)
    : name_(std::move(name)), complaints_(complaints), settings_(settings) {
  const toml::node* node = name_.empty() ? &document : document.get(name_);
  if (node == nullptr) return;
  if (node->source().begin) place_ = node->source().begin;
  if (const toml::table* table = node->as_table()) {
    table_ = table;
  } else {
    complaints_.at(place_, name_ + " is " + describe(*node) + "; write it as a section, [" + name_ + "]");
  }
}

std::string Section::full_name(std::string_view key) const {
  return name_.empty() ? std::string(key) : name_ + "." + std::string(key);
}

const toml::node* Section::find(std::string_view key) {
  known_.push_back(key);
  return table_->get(key);
}

void Section::note(std::string_view key, std::string value, const toml::node* node) {
  const std::string origin =
      node == nullptr ? "default" : complaints_.file() + ":" + std::to_string(node->source().begin.line);
  settings_.push_back({full_name(key), std::move(value), origin});
}

void Section::wrong_type(const toml::node& found, std::string_view key, std::string_view expected) {
  complaints_.at(found.source().begin, full_name(key) + " is " + describe(found) + "; write " + std::string(expected));
}

void Section::reject(std::string_view key, std::string_view what) {
  const toml::node* node = table_->get(key);
  complaints_.at(node == nullptr ? place_ : node->source().begin, full_name(key) + " " + std::string(what));
}

std::string Section::text(std::string_view key, std::string_view default_value) {
  const toml::node* node = find(key);
  std::string value(default_value);
  if (node != nullptr && !node->is_string()) wrong_type(*node, key, "a text in quotes");
  if (node != nullptr && node->is_string()) {
    if (const auto odd = find_odd_character(node->as_string()->get(), LineBreaks::refused)) {
      reject(key, "contains " + *odd);
    } else {
      value = node->as_string()->get();
    }
  }
  note(key, toml_text(value), node);
  return value;
}

std::string Section::path(std::string_view key, std::string_view default_value, std::string_view home) {
  std::string value = text(key, default_value);
  if (value.starts_with("~/")) {
    if (home.empty()) reject(key, "begins with \"~/\", but HOME is not set; write an absolute path");
    value = std::string(home) + value.substr(1);
    settings_.back().value = toml_text(value);
  }
  if (!value.empty() && value.front() != '/') reject(key, "is not absolute; begin it with \"/\" or \"~/\"");
  return value;
}

template <class T>
T Section::measured(std::string_view key, T default_value, T least, T most, Result<T> (*parse)(std::string_view),
                    std::string_view sample) {
  const toml::node* node = find(key);
  T value = default_value;
  if (node != nullptr && node->is_string()) {
    const auto parsed = parse(node->as_string()->get());
    if (!parsed) {
      reject(key, "= " + parsed.error().message);
    } else if (to_text(*parsed) != to_text(std::clamp(*parsed, least, most, [](T a, T b) { return a < b; }))) {
      reject(key, "is " + to_text(*parsed) + "; it must be from " + to_text(least) + " to " + to_text(most));
    } else {
      value = *parsed;
    }
  } else if (node != nullptr && node->is_integer()) {
    wrong_type(*node, key, "it with a unit, in quotes, such as \"" + std::string(sample) + "\"");
  } else if (node != nullptr) {
    wrong_type(*node, key, "a text such as \"" + std::string(sample) + "\"");
  }
  note(key, toml_text(to_text(value)), node);
  return value;
}

Duration Section::duration(std::string_view key, Duration default_value, Duration least, Duration most) {
  return measured<Duration>(key, default_value, least, most, parse_duration, to_text(default_value));
}

Bytes Section::bytes(std::string_view key, Bytes default_value, Bytes least, Bytes most) {
  return measured<Bytes>(key, default_value, least, most, parse_bytes, to_text(default_value));
}

std::uint32_t Section::count(std::string_view key, std::uint32_t default_value, std::uint32_t least,
                             std::uint32_t most) {
  const toml::node* node = find(key);
  std::uint32_t value = default_value;
  if (node != nullptr && !node->is_integer()) wrong_type(*node, key, "a whole number without quotes");
  if (node != nullptr && node->is_integer()) {
    const std::int64_t found = node->as_integer()->get();
    if (found < least || found > most) {
      reject(key, "is " + std::to_string(found) + "; it must be from " + std::to_string(least) + " to " +
                      std::to_string(most));
    } else {
      value = static_cast<std::uint32_t>(found);
    }
  }
  note(key, std::to_string(value), node);
  return value;
}

std::string Section::one_of(std::string_view key, std::string_view default_name,
                            const std::vector<std::string_view>& names) {
  const toml::node* node = find(key);
  std::string value(default_name);
  if (node != nullptr && !node->is_string()) wrong_type(*node, key, quoted_list(names));
  if (node != nullptr && node->is_string()) {
    const std::string& found = node->as_string()->get();
    if (std::find(names.begin(), names.end(), found) != names.end()) {
      value = found;
    } else {
      reject(key, "is " + toml_text(found) + "; it must be " + quoted_list(names));
    }
  }
  note(key, toml_text(value), node);
  return value;
}

void Section::for_each_text(std::string_view key, const std::function<Status(const std::string&)>& take) {
  const toml::node* node = find(key);
  std::string shown;
  if (node != nullptr && !node->is_array()) wrong_type(*node, key, "a list of texts, such as [\"…\", \"…\"]");
  if (node != nullptr && node->is_array()) {
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_string()) {
        complaints_.at(item.source().begin,
                       full_name(key) + " holds " + describe(item) + "; every entry must be a text in quotes");
        continue;
      }
      const std::string& value = item.as_string()->get();
      if (const auto taken = take(value); !taken) {
        complaints_.at(item.source().begin, full_name(key) + ": " + taken.error().message);
      }
      shown += (shown.empty() ? "" : ", ") + toml_text(value);
    }
  }
  note(key, "[" + shown + "]", node);
}

void Section::finish(const std::vector<std::string_view>& subsections) {
  for (const auto& [key, node] : *table_) {
    const bool expected = std::find(known_.begin(), known_.end(), key.str()) != known_.end() ||
                          std::find(subsections.begin(), subsections.end(), key.str()) != subsections.end();
    if (expected) continue;
    std::vector<std::string_view> candidates = known_;
    candidates.insert(candidates.end(), subsections.begin(), subsections.end());
    const auto place = key.source().begin ? key.source().begin : node.source().begin;
    complaints_.at(place, full_name(key.str()) + " is not a setting" + suggestion(key.str(), candidates));
  }
}

}  // namespace inbox_poller::config
