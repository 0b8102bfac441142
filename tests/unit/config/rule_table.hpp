// Reads the tables of tests/fixtures/config: `decision | rules | … | input`, one case a line.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config::rules_test {

inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(INBOX_POLLER_SOURCE) / "tests/fixtures/config" / name;
}

struct Row {
  int line = 0;
  std::string text;
  std::vector<std::string> columns;  // the last one with <U+…> replaced
};

inline std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

inline std::string utf8(unsigned long c) {
  const auto byte = [](unsigned long value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000) return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
}

inline std::string unescaped(std::string text) {
  for (std::size_t at = text.find("<U+"); at != std::string::npos; at = text.find("<U+", at)) {
    const std::size_t end = text.find('>', at);
    const std::string character = utf8(std::stoul(text.substr(at + 3, end - at - 3), nullptr, 16));
    text.replace(at, end - at + 1, character);
    at += character.size();
  }
  return text;
}

/// The rows of a table; only the first `columns - 1` bars separate, so that an input may hold bars.
inline std::vector<Row> read_table(const std::string& name, std::size_t columns) {
  std::ifstream file(fixture(name));
  if (!file) throw std::runtime_error("no fixture " + name);
  std::vector<Row> rows;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    Row row{number, line, {}};
    std::size_t begin = 0;
    while (row.columns.size() + 1 < columns) {
      const std::size_t bar = line.find(" | ", begin);
      if (bar == std::string::npos) throw std::runtime_error(name + ":" + std::to_string(number) + ": too few columns");
      row.columns.push_back(trimmed(line.substr(begin, bar - begin)));
      begin = bar + 3;
    }
    row.columns.push_back(unescaped(line.substr(begin)));
    rows.push_back(row);
  }
  return rows;
}

inline Action action(const std::string& name) {
  return name == "allow"  ? Action::allow
         : name == "ask"  ? Action::ask
         : name == "deny" ? Action::deny
                          : throw std::runtime_error(name);
}

/// "+Rule & ?Rule & -Rule & =default", each rule read by `parse`, which returns a Result.
template <class Rules, class Parse>
Action read_rules(const std::string& text, Rules& rules, Parse parse) {
  Action default_action = Action::ask;
  for (std::size_t begin = 0; begin < text.size() && text != ".";) {
    const std::size_t end = std::min(text.find(" & ", begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 3;
    if (item.front() == '=') {
      default_action = action(item.substr(1));
      continue;
    }
    auto rule = parse(item.substr(1));
    if (!rule) throw std::runtime_error(rule.error().message);
    (item.front() == '+' ? rules.allow : item.front() == '?' ? rules.ask : rules.deny).push_back(*rule);
  }
  return default_action;
}

}  // namespace inbox_poller::config::rules_test
