// The rules' word on many commands, for tests that run what is allowed: judge_lines POLICY FOLDER HOME reads commands
// that end in NUL and prints one decision a line. POLICY holds a rule a line: "+" allows, "?" asks, "-" denies.
// judge_lines --table prints the table of programs, its columns parted by tabs.
#include <fstream>
#include <iostream>

#include "config/programs.hpp"
#include "config/rules.hpp"
#include "schema/json_scan.hpp"

namespace config = inbox_poller::config;

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--table") {
    for (const config::ProgramRow& row : config::program_rows())
      std::cout << row.names << '\t' << row.operands << '\t' << row.options << '\n';
    return 0;
  }
  if (argc != 4) return 2;
  config::PermissionRules rules;
  std::ifstream policy(argv[1]);
  for (std::string line; std::getline(policy, line);) {
    auto rule = config::parse_permission_rule(std::string_view(line).substr(1));
    if (!rule) {
      std::cerr << rule.error().message << '\n';
      return 2;
    }
    auto& list = line.front() == '+' ? rules.allow : line.front() == '?' ? rules.ask : rules.deny;
    list.push_back(std::move(*rule));
  }
  for (std::string command; std::getline(std::cin, command, '\0');) {
    const std::string input = "{\"command\":" + inbox_poller::schema::quote(command) + "}";
    const auto verdict = config::judge_tool(rules, "Bash", input, {argv[2], argv[3]}, config::Action::ask);
    std::cout << config::to_string(verdict.action) << '\n';
  }
  return 0;
}
