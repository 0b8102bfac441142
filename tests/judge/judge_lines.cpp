// The rules' word on many commands, for tests that run what is allowed: judge_lines POLICY FOLDER HOME reads commands
// that end in NUL and prints one decision a line. POLICY holds a rule a line: "+" allows, "?" asks, "-" denies; its
// other lines are skipped, so that the fixtures are policies, too. With --time behind it: what one judgment takes,
// instead. judge_lines --table prints the table of programs, its columns parted by tabs.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>

#include "config/programs.hpp"
#include "config/rules.hpp"
#include "schema/json_scan.hpp"

namespace config = inbox_poller::config;

namespace {

bool read_policy(const char* path, config::PermissionRules& rules) {
  std::ifstream policy(path);
  for (std::string line; std::getline(policy, line);) {
    if (line.empty() || std::string_view("+?-").find(line.front()) == std::string_view::npos) continue;
    auto rule = config::parse_permission_rule(std::string_view(line).substr(1));
    if (!rule) {
      std::cerr << rule.error().message << '\n';
      return false;
    }
    auto& list = line.front() == '+' ? rules.allow : line.front() == '?' ? rules.ask : rules.deny;
    list.push_back(std::move(*rule));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--table") {
    for (const config::ProgramRow& row : config::program_rows())
      std::cout << row.names << '\t' << row.operands << '\t' << row.options << '\n';
    return 0;
  }
  config::PermissionRules rules;
  if (argc < 4 || !read_policy(argv[1], rules)) return 2;
  std::vector<double> times;
  const int rounds = argc > 4 ? 100 : 1;
  for (std::string command; std::getline(std::cin, command, '\0');) {
    const std::string input = "{\"command\":" + inbox_poller::schema::quote(command) + "}";
    for (int round = 0; round < rounds; ++round) {
      const auto begin = std::chrono::steady_clock::now();  // clock: a figure for the reader, compared with nothing
      const auto verdict = config::judge_tool(rules, "Bash", input, {argv[2], argv[3]}, config::Action::ask);
      // clock: a figure for the reader, compared with nothing
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      times.push_back(took.count());
      if (rounds == 1) std::cout << config::to_string(verdict.action) << '\n';
    }
  }
  std::ranges::sort(times);
  if (rounds > 1 && !times.empty())
    std::cout << "p50 " << times[times.size() / 2] << " us, p99 " << times[times.size() * 99 / 100] << " us\n";
  return 0;
}
