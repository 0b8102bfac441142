// The effects of a command's words after all of them are read: paths, and the pieces that a rule must spell out.
#include <algorithm>

#include "config/argument_reader.hpp"
#include "config/path_pattern.hpp"
#include "config/scripts.hpp"

namespace inbox_poller::config {
namespace {

/// Removes git's signs before a path: `:(top)src`, `:/src`, `:!src`.
std::string_view without_magic(std::string_view value) {
  if (!value.starts_with(':')) return value;
  if (value.starts_with(":(")) return value.substr(std::min(value.find(')'), value.size() - 1) + 1);
  return value.substr(std::min(value.find_first_not_of(":/!^"), value.size()));
}

}  // namespace

void ArgumentReader::settle() {
  if (is_tar()) return settle_tar();
  for (const ShellWord* word : operands_) {
    const bool above = word->value.starts_with("..") || word->value.find("/..") != std::string::npos;
    recurses_ =
        recurses_ || (is_git("diff") && (above || word->value.find_first_of("/~$") == 0) && leaves(word->value));
  }
  if (program_ != nullptr && program_->name == "cd") go_somewhere();
  settle_clone();
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    const ShellWord& word = *operands_[index];
    if (has_dest() && into_.empty() && index + 1 == operands_.size()) {
      settle_dest(word, index > 0);
      if (odd_last_ && index > 0) settle_dest(*operands_[index - 1], index > 1);
      if (index > 0) continue;
    }
    settle_operand(word, has_dest() ? program_->operands.front() : operand_role(index));
    const bool may_be_two = word.expands && !has_dest() && operand_role(index + 1) != operand_role(index);
    if (may_be_two) settle_operand(word, operand_role(index + 1));  // `uniq *`
    for (std::size_t less = odd_operand_; less < index && !has_dest(); ++less) {
      const ArgumentRole role = operand_role(less);
      if (role != operand_role(index) && role != ArgumentRole::script) settle_operand(word, role);
    }
  }
  if (line_length_ && name_.ends_with("sed") && !first_given_ && operands_.size() > 1)
    check_script(*operands_[1], operands_[1]->value);
  settle_in_place();
  settle_default();
  settle_spread();
  settle_unnamed();
  const bool unzips = name_ == "unzip" && modes_.find_first_of("ltZpv") == std::string::npos;
  if (name_ == "patch" || unzips) spill(".");
  for (std::size_t i = 1; i < operands_.size() && unzips; ++i)
    add_path(*operands_[i], operands_[i]->value, ArgumentRole::remove);
}

void ArgumentReader::settle_operand(const ShellWord& word, ArgumentRole role) {
  if (role == ArgumentRole::script) {
    if (!first_given_) check_script(word, word.value);
    if (name_ == "yq") add_any(word, word.value);  // some versions take a file's name here
    return;
  }
  if (role == ArgumentRole::code) {
    static constexpr std::string_view installs[] = {"install", "i",      "add",  "it", "install-test",
                                                    "up",      "update", "link", "ln"};
    const bool is_package = is_npm_ && subcommand_ > 0 && is_one_of(installs, part_.words[subcommand_].value);
    if (foreign_code(word.value) || (is_package && names_repository(word.value)))
      surprise(word, "which brings code from elsewhere");
    role = ArgumentRole::any;
  }
  if (role == ArgumentRole::pack) {
    const std::size_t dot = word.value.rfind('.');
    if (dot > 0 && dot < word.value.size()) add_path(word, word.value.substr(0, dot), ArgumentRole::write);
    role = ArgumentRole::move;
  }
  if (recurses_ && (role == ArgumentRole::read || role == ArgumentRole::carry)) role = ArgumentRole::tree;
  if (role == ArgumentRole::output && !harmless_target(word.value)) {
    surprise(word, "which writes a file");
    out_.surprises.back().writes = written_path(word.value);
  }
  if (role == ArgumentRole::set) {
    hand_on(word, word.value);
    return surprise(word, "which is a setting that decides what is run");
  }
  if (role == ArgumentRole::any)
    add_any(word, word.value);
  else
    add_path(word, name_ == "git" ? without_magic(word.value) : std::string_view(word.value), role);
  if (role == ArgumentRole::any && recurses_) add_path(word, word.value, ArgumentRole::tree);
  if (name_ == "ln" && operands_.size() == 1) add_path(word, std::string(base_name(word.value)), ArgumentRole::write);
  if (!into_.empty()) add_path(word, into_ + "/" + std::string(base_name(word.value)), ArgumentRole::dest);
  if (in_place_ != nullptr || writes_)
    add_path(word, word.value, recurses_ ? ArgumentRole::remove : ArgumentRole::write);
}

void ArgumentReader::go_somewhere() {
  const bool home = operands_.empty() && name_.ends_with("d") && name_.size() == 2 && modes_.empty();
  if (home) {
    folders_.known.push_back(context_.home);
    folders_.here = {context_.home};
  } else if (operands_.size() != 1 || modes_.find_first_not_of("LPe") != std::string::npos) {
    folders_.lost = true;
  }
}

void ArgumentReader::settle_clone() {
  const bool hub = name_ == "gh" && subcommand_ > 0 && part_.words[subcommand_].value == "repo";
  if (!is_git("clone") && !hub) return;
  if (operands_.size() != (hub ? 2 : 1)) return;
  std::string_view from = operands_.back()->value;
  for (const std::string_view end : {"/", "/.git", ".git", ".bundle"}) {
    while (from.size() > end.size() && from.ends_with(end)) from.remove_suffix(end.size());
  }
  from.remove_prefix(from.find_last_of("/:") + 1);
  add_path(*operands_.back(), from, ArgumentRole::write);
}

bool ArgumentReader::has_dest() const {
  return program_ != nullptr && !program_->operands.empty() && program_->operands.back() == ArgumentRole::dest;
}

void ArgumentReader::settle_dest(const ShellWord& word, bool has_sources) {
  add_path(word, word.value, ArgumentRole::dest);
  if (!has_sources) return;
  for (const ShellWord* source : operands_) {
    if (source == &word) break;
    std::string_view from = source->value;
    while (from.size() > 1 && from.ends_with('/')) from.remove_suffix(1);
    add_path(word, word.value + "/" + std::string(base_name(from)), ArgumentRole::dest);
    if (name_ != "ln" || from.starts_with('/')) continue;
    const std::size_t slash = word.value.rfind('/');
    add_path(*source, word.value + "/" + std::string(from), ArgumentRole::carry);
    if (slash != std::string::npos)
      add_path(*source, word.value.substr(0, slash + 1) + std::string(from), ArgumentRole::carry);
  }
}

void ArgumentReader::settle_in_place() {
  if (in_place_ == nullptr) return;
  std::size_t files = 0;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operand_role(i) == ArgumentRole::script && !first_given_) continue;
    ++files;
    surprise(*in_place_, "which changes its files in place");
    out_.surprises.back().writes = written_path(operands_[i]->value);
  }
  if (files == 0) surprise(*in_place_, "which changes its files in place");
}

void ArgumentReader::settle_default() {
  const bool searches =
      program_ != nullptr && program_->operands.size() == 2 && program_->operands.front() == ArgumentRole::text;
  if (!searches || (!recurses_ && (program_->operands.back() != ArgumentRole::tree || part_.piped))) return;
  if (operands_.size() + (first_given_ ? 1 : 0) < 2) add_plain(".", ArgumentRole::tree);
}

void ArgumentReader::settle_tar() {
  const auto letter = [&](std::string_view any) { return modes_.find_first_of(any) != std::string::npos; };
  const bool extracts = letter("x") || has_mode({"--extract", "--get"});
  const bool lists = letter("t") || has_mode({"--list"});
  const bool creates =
      letter("cruA") || has_mode({"--create", "--append", "--update", "--catenate", "--concatenate"}) ||
      has_mode({"--delete"}) || !(extracts || lists || letter("d") || has_mode({"--diff", "--compare"}));
  if (archive_ != nullptr) {
    add_path(*archive_, archive_value_, creates ? ArgumentRole::dest : ArgumentRole::read);
    if (archive_value_.find(':') < archive_value_.find('/') && !has_mode({"--force-local"}))
      surprise(*archive_, "which runs a program to reach another machine");
  }
  for (const ShellWord* word : operands_) {
    if (creates || !(extracts || lists)) add_path(*word, word->value, ArgumentRole::tree);
  }
  if (extracts) {
    spill(".");
    for (const ShellWord* word : operands_) add_path(*word, word->value, ArgumentRole::remove);
  }
  for (const ShellWord* word : operands_) {
    if (in_place_ != nullptr) add_path(*word, word->value, ArgumentRole::remove);
  }
  if (in_place_ != nullptr) surprise(*in_place_, "which removes what it has put away");
}

bool ArgumentReader::has_mode(std::initializer_list<std::string_view> modes) const {
  return std::ranges::any_of(words_, [&](const ShellWord* word) {
    return word->value.size() >= 4 && word->value.starts_with("--") &&
           std::ranges::any_of(modes, [&](std::string_view mode) { return mode.starts_with(word->value); });
  });
}

bool ArgumentReader::is_git(std::string_view subcommand) const {
  return name_ == "git" && subcommand_ > 0 && subcommand_ < part_.words.size() &&
         part_.words[subcommand_].value == subcommand;
}

bool ArgumentReader::is_roof(const ShellWord& word, std::string_view value) const {
  std::vector<std::string> spellings{std::string(value)};
  if (word.expands && !expand(value, spellings)) return true;
  std::vector<std::string> below = folders_.known;
  below.push_back(context_.cwd);
  below.push_back(context_.home);
  for (const std::string& spelling : spellings) {
    if (spelling.find('$') != std::string::npos) return true;
    for (const std::string& folder : folders_.known) {
      const std::string path = normalise_path(spelling, {folder, context_.home});
      if (std::ranges::any_of(below, [&](const std::string& one) {
            return !one.empty() && (one == path || path == "/" || one.starts_with(path + "/"));
          }))
        return true;
    }
  }
  return false;
}

void ArgumentReader::settle_spread() {
  if ((name_ != "cp" || !recurses_) && name_ != "rsync") return;
  if (operands_.empty() || (into_.empty() && operands_.size() < 2)) return;
  bool all = modes_.find('T') != std::string::npos && name_ == "cp";
  for (const ShellWord* word : words_) {
    const std::string_view value = word->value;
    all = all || (value.size() > 4 && std::string_view("--no-target-directory").starts_with(value));
  }
  const std::size_t sources = operands_.size() - (into_.empty() ? 1 : 0);
  for (std::size_t i = 0; i < sources; ++i) {
    const std::string_view value = operands_[i]->value;
    all = all || value == "." || value == ".." || value.ends_with("/.") || value.ends_with("/..") ||
          (name_ == "rsync" && value.ends_with('/'));
  }
  const ShellWord& dest = into_.empty() ? *operands_.back() : *into_word_;
  if (all && is_roof(dest, into_.empty() ? std::string_view(dest.value) : into_))
    surprise(dest, "where hidden files that decide what runs later may be written");
}

void ArgumentReader::settle_unnamed() {
  const bool waits = name_ == "sftp" || (name_ == "sqlite3" && std::min(operands_.size(), odd_operand_) < 2);
  if (waits && (part_.piped || !part_.redirections.empty()))
    surprise(part_.words.front(), "which is told what to do by its input"),
        out_.surprises.back().length = std::string::npos;
  if (name_ == "zip" && modes_.find('@') != std::string::npos) out_.unseen_reads = true;
  const std::string_view first = words_.empty() ? "" : std::string_view(words_.front()->value);
  const bool fetches_nothing = words_.size() == 1 && (first == "--version" || first == "-V" || first == "--help");
  if (name_ == "wget" && !words_.empty() && modes_.find('O') == std::string::npos && first != "--spider" &&
      !fetches_nothing &&
      std::ranges::none_of(words_, [](const ShellWord* word) { return word->value.starts_with("--output-document"); }))
    surprise(operands_.empty() ? *words_.front() : *operands_.front(), "which is written under a name of its own");
  if (!is_git("apply") && !is_git("am")) return;
  const bool shows =
      has_mode({"--check", "--stat", "--numstat", "--summary", "--abort", "--quit", "--show-current-patch"});
  if (!shows || has_mode({"--apply"})) spill(".");
}

void ArgumentReader::spill(std::string_view folder) {
  bool elsewhere = false;
  for (PathUse& use : out_.paths) {
    if (use.writes) use.below = Below::named, elsewhere = true;
  }
  if (elsewhere) return;
  add_plain(folder, ArgumentRole::remove);
  for (PathUse& use : out_.paths) use.sure = use.sure && !use.writes;
}

void ArgumentReader::check_script(const ShellWord& word, std::string_view script) {
  const auto why = script_surprise(name_, script);
  if (!why) return;
  surprise(word, *why);
  hand_on(word, script);
  add_any(word, script);  // files that the script names
  for (std::size_t open = script.find('"'); open < script.size(); open = script.find('"', open + 1)) {
    const std::size_t close = std::min(script.find('"', open + 1), script.size());
    hand_on(word, script.substr(open + 1, close - open - 1));  // a command of awk: `"rm x" | getline`
  }
}

void ArgumentReader::surprise_option(const ProgramOption& option, const ShellWord& word, std::string_view why) {
  surprise(word, why);
  if (option.name.size() > 1 && word.text.starts_with(option.name)) out_.surprises.back().length = option.name.size();
}

}  // namespace inbox_poller::config
