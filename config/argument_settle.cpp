// What the words of a command come to, once all of them are read: paths, and what only a rule's own text covers.
#include <algorithm>

#include "config/argument_reader.hpp"
#include "config/scripts.hpp"

namespace inbox_poller::config {

void ArgumentReader::settle() {
  if (is_tar()) return settle_tar();
  if (operands_.empty() && (name_ == "cd" || name_ == "popd")) go_somewhere();
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    const ShellWord& word = *operands_[index];
    if (has_dest() && into_.empty() && index + 1 == operands_.size()) {
      settle_dest(word, index > 0);
      if (index > 0) continue;
    }
    settle_operand(word, has_dest() ? program_->operands.front() : operand_role(index));
    const bool may_be_two = word.expands && !has_dest() && operand_role(index + 1) != operand_role(index);
    if (may_be_two) settle_operand(word, operand_role(index + 1));  // `uniq *`
  }
  settle_in_place();
  settle_default();
  if (name_ == "patch" || (name_ == "unzip" && modes_.find_first_of("ltZpv") == std::string::npos)) spill(".");
}

void ArgumentReader::settle_operand(const ShellWord& word, ArgumentRole role) {
  if (role == ArgumentRole::script) {
    if (!first_given_) check_script(word);
    if (name_ == "yq") add_any(word, word.value);  // some take a file's name here
    return;
  }
  if (recurses_ && (role == ArgumentRole::read || role == ArgumentRole::carry)) role = ArgumentRole::tree;
  if (role == ArgumentRole::output && !harmless_target(word.value)) {
    surprise(word, "which writes a file");
    out_.surprises.back().writes = written_path(word.value);
  }
  if (role == ArgumentRole::set) return surprise(word, "which is a setting that decides what is run");
  if (role == ArgumentRole::any)
    add_any(word, word.value);
  else
    add_path(word, word.value, role);
  if (role == ArgumentRole::any && recurses_) add_path(word, word.value, ArgumentRole::tree);
  if (name_ == "ln" && operands_.size() == 1) add_path(word, std::string(base_name(word.value)), ArgumentRole::write);
  if (!into_.empty()) add_path(word, into_ + "/" + std::string(base_name(word.value)), ArgumentRole::dest);
  if (in_place_ != nullptr || writes_)
    add_path(word, word.value, recurses_ ? ArgumentRole::remove : ArgumentRole::write);
}

void ArgumentReader::go_somewhere() {
  if (name_ == "popd" || context_.home.empty())
    folders_.lost = true;
  else
    folders_.known.push_back(context_.home);
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
  const bool creates = modes_.find_first_of("cru") != std::string::npos || has_word("--create", "--append", "--update");
  const bool extracts = modes_.find('x') != std::string::npos || has_word("--extract", "--get", "--extract");
  if (archive_ != nullptr) add_path(*archive_, archive_value_, creates ? ArgumentRole::dest : ArgumentRole::read);
  for (const ShellWord* word : operands_) {
    if (creates) add_path(*word, word->value, ArgumentRole::tree);
  }
  if (!extracts) return;
  spill(".");
}

bool ArgumentReader::has_word(std::string_view a, std::string_view b, std::string_view c) const {
  return std::ranges::any_of(part_.words,
                             [&](const ShellWord& w) { return w.value == a || w.value == b || w.value == c; });
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

void ArgumentReader::check_script(const ShellWord& word) {
  if (const auto why = script_surprise(name_, word.value)) surprise(word, *why);
}

void ArgumentReader::surprise_option(const ProgramOption& option, const ShellWord& word, std::string_view why) {
  surprise(word, why);
  if (option.name.size() > 1 && word.text.starts_with(option.name)) out_.surprises.back().length = option.name.size();
}

}  // namespace inbox_poller::config
