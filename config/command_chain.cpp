// The parts of one command line in order: the directory of each, its input from the previous part, and the files that
// one part writes for a later one.
#include <algorithm>
#include <optional>

#include "config/argument_paths.hpp"
#include "config/command_rules.hpp"
#include "config/path_pattern.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

/// Returns the output of `echo` or `printf` as words; nothing if it is not certain.
std::optional<std::vector<ShellWord>> plain_output(const ShellPart& part, const ShellWord& handed_to) {
  const std::string_view name = part.words.empty() ? "" : std::string_view(part.words.front().text);
  if (part.grouped || (name != "echo" && name != "printf") || !part.assignments.empty()) return std::nullopt;
  std::vector<ShellWord> found;
  for (std::size_t i = 1; i < part.words.size(); ++i) {
    std::string value = part.words[i].value;
    if (i == 1 && value.starts_with('-') && value != "-n") return std::nullopt;  // `echo -e`
    if (i == 1 && (value == "-n" || value == "%s\\n" || value == "%s " || value == "%s")) continue;
    if (value.ends_with("\\n")) value.resize(value.size() - 2);
    if (part.words[i].expands || value.find_first_of("\\%\"'$`*?[{") != std::string::npos) return std::nullopt;
    for (std::size_t at = 0; (at = value.find_first_not_of(" \t\n", at)) != std::string::npos;) {
      const std::size_t end = std::min(value.find_first_of(" \t\n", at), value.size());
      ShellWord word = handed_to;
      word.value = value.substr(at, end - at);
      found.push_back(std::move(word));
      at = end;
    }
  }
  return found;
}

/// Programs that write names and marks, and nothing that could be run.
constexpr std::string_view writes_no_content[] = {"mkdir", "touch", "chmod",  "chown", "chgrp",
                                                  "rm",    "rmdir", "unlink", "shred", "mkfifo"};

/// Files that a tool runs, or takes its commands from, if they are in the tool's directory.
constexpr std::string_view build_files =
    "makefile gnumakefile *.mk cmakelists.txt cmakepresets.json *.cmake build.ninja meson.build configure "
    "package.json deno.json bunfig.toml cargo.toml build.rs go.mod pyproject.toml setup.py setup.cfg tox.ini "
    "noxfile.py conftest.py pytest.ini tasks.py manage.py pom.xml build.xml build.gradle build.gradle.kts "
    "settings.gradle settings.gradle.kts gradlew mvnw build.sbt rakefile gemfile *.gemspec justfile .justfile "
    "taskfile.yml taskfile.yaml sconstruct workspace build.bazel module.bazel dockerfile dockerfile.* "
    "docker-compose.yml docker-compose.yaml compose.yml compose.yaml *.config.js *.config.cjs *.config.mjs *.config.ts "
    ".eslintrc* .prettierrc* .babelrc* .mocharc* .pre-commit-config.yaml composer.json mix.exs package.swift "
    "gruntfile.js gulpfile.js flake.nix default.nix shell.nix vagrantfile procfile";

/// Programs that follow a configuration without building.
constexpr std::string_view keepers[] = {"git", "hg", "gh"};

std::string_view name_of(const ShellPart& part) { return base_name(part.words[core_word(part)].value); }

/// Returns true if a part runs files of its directory: build tools, interpreters, programs of that directory, and
/// unlisted programs that may.
bool runs_folder(const ShellPart& part) {
  const std::size_t core = core_word(part);
  if (part.words[core].value.find('/') != std::string::npos) return true;
  return std::ranges::any_of(possible_commands(part), [&](std::size_t at) {
    const std::string_view name = base_name(part.words[at].value);
    const std::string_view next = at + 1 < part.words.size() ? std::string_view(part.words[at + 1].value) : "";
    const Program* program = find_program(name);
    if (program == nullptr) return at == core && !takes_plain_arguments(name, next) && !takes_names(name);
    if (program->local) return true;
    return std::any_of(part.words.begin() + static_cast<std::ptrdiff_t>(at) + 1, part.words.end(),
                       [&](const ShellWord& word) {
                         const Program* sub = find_program(program->name, word.value);
                         return sub != nullptr && sub->local;
                       });
  });
}

/// The place of one part, for the later parts.
struct Step {
  std::vector<std::string> folders;  // where it may work
  std::string program;  // the file that is its command, or the script for a shell or an interpreter
};

Step step_of(const ShellPart& part, const Folders& folders, const RuleContext& context) {
  Step step{folders.working(), ""};
  const std::size_t core = core_word(part);
  std::string_view file = part.words[core].value;
  const Program* program = find_program(base_name(file));
  const bool interprets =
      is_shell(base_name(file)) || (program != nullptr && program->operands.front() == ArgumentRole::rest);
  if (file.find('/') == std::string_view::npos) file = "";
  if (interprets && core + 1 < part.words.size() && !part.words[core + 1].value.starts_with('-'))
    file = part.words[core + 1].value;
  if (!file.empty() && step.folders.size() == 1)
    step.program = normalise_path(file, {step.folders.front(), context.home});
  return step;
}

/// A path that one part writes with contents of its choice.
struct Written {
  std::string path;
  bool builds = false;  // by its name, a file that build tools run
};

std::vector<Written> written_by(const ShellPart& part, const Arguments& arguments) {
  std::vector<Written> found;
  if (part.words.empty() || is_one_of(writes_no_content, name_of(part))) return found;
  const bool unlisted = find_program(name_of(part)) == nullptr;
  for (const PathUse& use : arguments.paths) {
    if (!use.writes && !(use.may_write && unlisted)) continue;
    const std::string_view name = base_name(use.folded);
    const bool computed = name.find_first_of("*?[") != std::string_view::npos;
    bool builds = false;
    for (std::string_view rest = build_files; !rest.empty() && !builds;) {
      const std::string_view file = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(file.size() + 1, rest.size()));
      builds = !computed && file.find('*') == std::string_view::npos ? file == name : wildcards_overlap(file, name);
    }
    found.push_back({use.path, builds});
  }
  return found;
}

/// Returns true if a part runs the written file: as its program, as its tool's file, or through its directory.
bool runs_written(const Written& written, bool builds, const Step& step, const RuleContext& context) {
  const std::string_view name = base_name(written.path);
  const bool is_same_folder =
      step.program.size() > base_name(step.program).size() &&
      std::string_view(written.path).substr(0, written.path.size() - name.size()) ==
          std::string_view(step.program).substr(0, step.program.size() - base_name(step.program).size());
  const bool is_program = step.program == written.path || step.program.starts_with(written.path + "/") ||
                          (is_same_folder && names_overlap(base_name(step.program), name, false));
  if ((builds && written.builds) || (is_program && !step.program.empty())) return true;
  return std::ranges::any_of(step.folders, [&](const std::string& folder) {
    const bool below = folder == written.path || folder.starts_with(written.path + "/");
    return below && folder != context.cwd && written.path.size() > context.cwd.size();
  });
}

/// Records `cp Evil Makefile && make`: one call replaces a file and runs it, so that no person sees the file between.
void surprise_what_is_run(Command& command, const std::vector<Step>& steps, const RuleContext& context) {
  if (!command.line.doubt.empty() || steps.size() < 2) return;  // nothing is granted there
  std::vector<bool> runs;                                       // computed once for each part: a hostile line has many
  for (const ShellPart& part : command.visible) runs.push_back(!part.words.empty() && runs_folder(part));
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const ShellPart& writer = command.visible[i];
    const std::vector<Written> written = written_by(writer, command.arguments[i]);
    if (written.empty()) continue;
    for (std::size_t j = i + 1; j < steps.size(); ++j) {
      const ShellPart& runner = command.visible[j];
      if (!runs[j]) continue;
      const bool builds = !is_one_of(keepers, name_of(runner));
      if (std::ranges::none_of(written,
                               [&](const Written& one) { return runs_written(one, builds, steps[j], context); }))
        continue;
      command.arguments[i].surprises.push_back(
          {0, writer.text.size(),
           "\"" + writer.text + "\", which writes what \"" + std::string(name_of(runner)) + "\" runs behind it",
           std::nullopt});
      break;
    }
  }
}

}  // namespace

bool stays_inside(const ShellPart& part, const RuleContext& context) {
  if (part.words.size() != 2 || part.words[0].text != "cd" || !part.assignments.empty() || !part.redirections.empty())
    return false;
  const ShellWord& word = part.words[1];
  if (word.expands || word.value.empty() || word.value.front() == '-' || word.value.front() == '~' ||
      context.cwd.empty())
    return false;
  if (path_doubt(word.value, context)) return false;
  const std::string path = normalise_path(word.value, context);
  return path == context.cwd || path.starts_with(context.cwd + "/");
}

void read_arguments(Command& command, const RuleContext& given) {
  const auto known = [](const std::string& folder) { return folder.empty() ? std::string(unknown_folder) : folder; };
  const RuleContext context{known(given.cwd), known(given.home)};
  Folders folders{{context.cwd}, {}, false};
  std::vector<std::size_t> moves;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < command.visible.size(); ++i) {
    const ShellPart& part = command.visible[i];
    if (part.words.empty()) {
      command.arguments.emplace_back();
      steps.emplace_back();
      continue;
    }
    const std::size_t core = core_word(part);
    const std::string_view name = base_name(part.words[core].value);
    if (!part.chained) folders.here.clear();
    steps.push_back(step_of(part, folders, context));
    std::optional<std::vector<ShellWord>> input;
    if (core > 0 && part.words[core - 1].value == "xargs" && part.piped && i > 0 && i < command.line.parts.size() &&
        part.redirections.empty())
      input = plain_output(command.visible[i - 1], part.words[core - 1]);
    const bool runs_them = runs_its_arguments(part);
    const bool every = runs_them && !takes_names(name) && name != "find";
    command.arguments.push_back(every ? read_every_argument(part, folders, context)
                                      : read_arguments(part, core, input ? &*input : nullptr, folders, context));
    command.arguments.back().core = core;
    command.arguments.back().runs_them = runs_them;
    const Program* program = find_program(name);
    const bool moves_on = program != nullptr && program->name == "cd";
    if (moves_on && (part.piped || core > 0)) folders.here.clear();
    if (moves_on) moves.push_back(i);
    if (!folders.stray(context.cwd) || !runs_folder(part)) continue;
    for (const std::size_t move : moves) {
      const ShellPart& moving = command.visible[move];
      const bool unnamed = moving.words.size() == 1;  // no pattern with a `*` names the target of `cd` alone
      command.arguments[move].surprises.push_back({0, unnamed ? std::string::npos : moving.text.size(),
                                                   "\"" + moving.text + "\", which leads " + std::string(name) +
                                                       " into another folder, whose code or configuration is run",
                                                   std::nullopt});
    }
    moves.clear();
  }
  surprise_what_is_run(command, steps, context);
  command.handed = handed_commands(command.arguments);
  if (command.handed.too_many && command.line.doubt.empty())
    command.line.doubt = "has too many arguments that could be commands";
}

}  // namespace inbox_poller::config
