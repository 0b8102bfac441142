#include "config/programs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace inbox_poller::config {
namespace {

constexpr std::pair<std::string_view, ArgumentRole> operand_words[] = {
    {"text", ArgumentRole::text},     {"any", ArgumentRole::any},         {"read", ArgumentRole::read},
    {"tree", ArgumentRole::tree},     {"carry", ArgumentRole::carry},     {"move", ArgumentRole::move},
    {"write", ArgumentRole::write},   {"remove", ArgumentRole::remove},   {"dest", ArgumentRole::dest},
    {"output", ArgumentRole::output}, {"script", ArgumentRole::script},   {"enter", ArgumentRole::enter},
    {"set", ArgumentRole::set},       {"sub", ArgumentRole::sub},         {"verb", ArgumentRole::verb},
    {"rest", ArgumentRole::rest},     {"program", ArgumentRole::program}, {"pack", ArgumentRole::pack},
    {"stem", ArgumentRole::stem},     {"code", ArgumentRole::code}};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

/// Reads the marks after an option's name: how many words it takes, their role, and its effect.
void read_marks(ProgramOption& option, std::string_view marks) {
  const auto takes = [&](ArgumentRole role) {
    option.role = role;
    option.words = static_cast<unsigned char>(std::max<int>(option.words, 1));
  };
  for (; !marks.empty(); marks.remove_prefix(1)) {
    const auto two = marks.substr(0, 2);
    if (two == "<>" || two == "<<" || two == ">>" || two == "==" || two == "=<" || two == "!." || two == ">*" ||
        two == ">/") {
      if (two == "<>") option.writes = true;
      if (two == "<<") takes(ArgumentRole::tree);
      if (two == ">*") takes(ArgumentRole::stem);
      if (two == ">/") takes(ArgumentRole::remove);
      if (two == ">>") takes(ArgumentRole::output);
      if (two == "==" || two == "=<") takes(two == "==" ? ArgumentRole::text : ArgumentRole::read), option.words = 2;
      if (two == "!.") takes(ArgumentRole::any), option.runs = option.outside = true;
      marks.remove_prefix(1);
      continue;
    }
    switch (marks.front()) {
      case '=': takes(option.runs ? ArgumentRole::any : option.role); break;
      case '<': takes(ArgumentRole::read); break;
      case '>': takes(ArgumentRole::write); break;
      case '/': takes(ArgumentRole::enter); break;
      case '@': takes(ArgumentRole::any); break;
      case '%': takes(ArgumentRole::script); break;
      case '(': option.role = ArgumentRole::program; break;
      case '&': option.filter = true; break;
      case '$': option.names = true; break;
      case ';': option.behind_colon = true; break;
      case '!': option.runs = true; break;
      case ':': option.first = true; break;
      case '?': option.glued = true; break;
      case '~': option.in_place = true; break;
      case '+': option.recurses = true; break;
      case '^': option.hidden = true; break;
      default: break;
    }
  }
}

ProgramOption read_option(std::string_view text) {
  constexpr std::string_view marks = "=<>/@%(&!:~+^?$;";
  std::size_t end = std::min(text.find_first_of(marks, 1), text.size());
  if (!text.starts_with('-') && text.substr(end, 1) == "=") ++end;  // "of=": an operand with that beginning
  if (text == "!") end = 0;
  ProgramOption option;
  option.name = text.substr(0, end);
  if (option.name.ends_with('=')) option.words = 1;
  read_marks(option, text.substr(end));
  constexpr std::string_view tails = " -x --exec -X --exec-batch -E ";  // of fd and cmake
  const bool listed = tails.find(" " + option.name + " ") != std::string_view::npos;
  option.tail = option.runs && option.words == 0 && (listed || !option.name.starts_with('-'));
  return option;
}

using Table = std::map<std::string_view, Program, std::less<>>;

/// Returns the rows for lookup: one entry a name, "git log" for a subcommand. Built once.
const Table& table() {
  static std::vector<std::string> names;  // storage for the keys of subcommands
  static const Table built = [] {
    Table all;
    names.reserve(512);
    for (const ProgramRow& row : program_rows()) {
      Program program;
      for (std::string_view word : split(row.operands, ' ')) {
        if (word == "whole" || word == "local") {
          (word == "whole" ? program.whole : program.local) = true;
          continue;
        }
        if (word.ends_with('*')) word.remove_suffix(1);
        program.operands.push_back(
            std::ranges::find(operand_words, word, [](const auto& w) { return w.first; })->second);
      }
      for (const std::string_view option : split(row.options, ' ')) {
        program.options.push_back(read_option(option));
        const ProgramOption& last = program.options.back();
        program.risky |= (last.runs && !last.outside) || last.role == ArgumentRole::output || last.in_place;
        program.long_dash |=
            last.name.size() > 3 && last.name[0] == '-' && last.name[1] >= 'a' && last.role != ArgumentRole::enter;
      }
      const std::size_t blank = row.names.find(' ');
      const std::string_view first_name = row.names.substr(0, blank);
      const bool subcommands = row.names.find(',') != std::string_view::npos ||
                               (blank != std::string_view::npos && all.contains(first_name));
      if (!subcommands) {
        for (const std::string_view name : split(row.names, ' '))
          all.emplace(name, program).first->second.name = first_name;
        continue;
      }
      for (const std::string_view sub : split(row.names.substr(blank + 1), ',')) {
        names.push_back(std::string(first_name).append(" ").append(sub));
        all.emplace(names.back(), program).first->second.name = first_name;
      }
    }
    return all;
  }();
  return built;
}

}  // namespace

const Program* find_program(std::string_view name, std::string_view subcommand) {
  const std::string key = subcommand.empty() ? std::string() : std::string(name).append(" ").append(subcommand);
  const auto found = table().find(subcommand.empty() ? name : std::string_view(key));
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace inbox_poller::config
