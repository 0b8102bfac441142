#include "config/argument_paths.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/path_pattern.hpp"
#include "config/protected_paths.hpp"
#include "config/text.hpp"
#include "schema/fold.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::size_t most_paths = 256;     // of one command; limits the work on a hostile line
constexpr std::size_t most_spellings = 64;  // of one word with braces; beyond this limit, its path counts as unseen

/// Splits one pair of braces: its pieces go to `todo`, a text without braces to `out`. `{1}` stays, `{a..z}` is unseen.
bool split_braces(const std::string& text, std::vector<std::string>& todo, std::vector<std::string>& out) {
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    std::vector<std::size_t> commas;
    std::size_t close = open + 1;
    for (int depth = 1; close < text.size(); ++close) {
      if (text[close] == '{') ++depth;
      if (text[close] == '}' && --depth == 0) break;
      if (text[close] == ',' && depth == 1) commas.push_back(close);
    }
    if (close >= text.size()) continue;
    if (commas.empty() && text.substr(open, close - open).find("..") != std::string::npos) return false;
    if (commas.empty()) continue;
    std::size_t end = close;  // the last piece first, because `todo` is taken from its end
    commas.insert(commas.begin(), open);
    for (; !commas.empty(); commas.pop_back()) {
      const std::size_t begin = commas.back() + 1;
      todo.push_back(text.substr(0, open) + text.substr(begin, end - begin) + text.substr(close + 1));
      end = commas.back();
    }
    return todo.size() <= most_spellings;
  }
  out.push_back(text);
  return true;
}

/// Calls `act` for each piece between signs that no ordinary path has, and with whether the value is free of quotes,
/// parentheses, operators and blanks.
template <class Do>
void for_each_token(std::string_view value, Do act) {
  constexpr std::string_view signs = "=:@,'\"()<>|;& \t\n`!^";
  const std::size_t first = value.find_first_of(signs);
  if (first == std::string_view::npos) return;
  const bool simple = value.find_first_of("'\"()<>|;& \t\n`") == std::string_view::npos;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find_first_of(signs, at), value.size());
    if (end > at) act(value.substr(at, end - at), simple);
    at = end + 1;
  }
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

/// Removes variables, because an unset one stands for nothing: `$X.git` may be `.git`.
std::string without_variables(std::string_view path) {
  std::string out;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] != '$') {
      out += path[at];
      continue;
    }
    const bool braces = path.substr(at + 1, 1) == "{";
    if (braces) at = std::min(path.find('}', at), path.size());
    if (!braces) ++at;
    while (!braces && at + 1 < path.size() &&
           (std::isalnum(static_cast<unsigned char>(path[at + 1])) || path[at + 1] == '_'))
      ++at;
  }
  return out;
}

/// Returns true for links that every process has, such as `/proc/self/cwd/x`.
bool another_way_round(std::string_view path) {
  return path.starts_with("/proc/") &&
         (path.find("/cwd") != std::string_view::npos || path.find("/root") != std::string_view::npos ||
          path.find("/fd") != std::string_view::npos);
}

}  // namespace

bool ArgumentPaths::shell_fills_anything(std::string_view value) {
  if (value.find('$') == std::string_view::npos) return false;
  for (const std::string_view name :
       {"$_", "${_}", "$@", "$*", "${@}", "${*}", "$OLDPWD", "${OLDPWD}", "$BASH_COMMAND", "${BASH_COMMAND}"}) {
    const std::size_t at = value.find(name);
    if (at != std::string_view::npos && (name != "$_" || at + 2 == value.size() || value[at + 2] == '/')) return true;
  }
  return false;
}

bool ArgumentPaths::leaves(std::string_view value, bool from_here) const {
  std::vector<std::string> spellings;
  if (folders_.lost || value.starts_with("{\"") || !expand(value, spellings)) return true;
  return std::ranges::any_of(spellings, [&](const std::string& spelling) {
    const std::string_view path = std::string_view(spelling).substr(0, spelling.find(':'));
    return path.find('$') != std::string_view::npos ||
           std::ranges::any_of(folders_.working(), [&](const std::string& folder) {
             const std::string& own = from_here && !is_below(folder, context_.cwd) ? folder : context_.cwd;
             return !path.empty() && !is_below(normalise_path(path, {folder, context_.home}), own);
           });
  });
}

bool ArgumentPaths::foreign_code(std::string_view value) const {
  if (value.size() > 2 && value.starts_with('-') && leaves(value.substr(2), true))
    return true;  // a joined option: `-- -C/tmp`
  static constexpr std::string_view hosts[] = {"github:", "gitlab:", "bitbucket:", "gist:", "git@", "git+ssh:"};
  constexpr std::string_view signs = ":@= ";
  if (leaves(value, true) || std::ranges::any_of(hosts, [&](auto host) { return value.starts_with(host); }))
    return true;
  for (std::size_t at = value.find_first_of(signs); at < value.size(); at = value.find_first_of(signs, at + 1)) {
    const std::string_view piece = value.substr(at + 1);  // `name@~1.2` is not a directory
    if (!(piece.starts_with('~') && !piece.starts_with("~/")) && leaves(piece, true)) return true;
  }
  return false;
}

bool ArgumentPaths::names_repository(std::string_view value) {
  if (const std::size_t at = value.rfind('@'); at != std::string_view::npos && at > 0) value.remove_prefix(at + 1);
  return std::ranges::count(value, '/') == 1 && std::string_view("@./~-").find(value.front()) == std::string_view::npos;
}

bool ArgumentPaths::harmless_target(std::string_view value) {
  return value == "-" || value == "/dev/null" || value == "/dev/stdout" || value == "/dev/stderr";
}

std::optional<std::string> ArgumentPaths::written_path(std::string_view value) const {
  const bool relative = !value.starts_with('/') && !value.starts_with('~');
  if (value.find_first_of("$*?[{`") != std::string_view::npos || path_doubt(value, context_)) return std::nullopt;
  if (relative && (folders_.lost || folders_.known.size() > 1 || context_.cwd == unknown_folder)) return std::nullopt;
  return normalise_path(value, context_);
}

void ArgumentPaths::unseen(ArgumentRole role) {
  switch (role) {
    case ArgumentRole::text:
    case ArgumentRole::script: return;
    case ArgumentRole::any:
    case ArgumentRole::code:
    case ArgumentRole::rest:
    case ArgumentRole::read:
    case ArgumentRole::tree: out_.unseen_reads = true; return;
    case ArgumentRole::write:
    case ArgumentRole::remove:
    case ArgumentRole::output: out_.unseen_writes = true; return;
    default: out_.unseen_reads = out_.unseen_writes = true;
  }
}

PathUse ArgumentPaths::use_of(ArgumentRole role) {
  PathUse use;
  use.reads = role == ArgumentRole::read || role == ArgumentRole::tree || role == ArgumentRole::carry ||
              role == ArgumentRole::move || role == ArgumentRole::any || role == ArgumentRole::enter;
  use.writes = role == ArgumentRole::write || role == ArgumentRole::remove || role == ArgumentRole::output ||
               role == ArgumentRole::dest || role == ArgumentRole::move;
  use.may_write = role == ArgumentRole::any;
  if (role == ArgumentRole::tree) use.below = Below::everything;
  if (role == ArgumentRole::carry || role == ArgumentRole::move || role == ArgumentRole::remove)
    use.below = Below::named;
  return use;
}

void ArgumentPaths::add_path(const ShellWord& word, std::string_view value, ArgumentRole role) {
  if (role == ArgumentRole::stem) return add_path(word, std::string(value) + "*", ArgumentRole::write);
  if (role == ArgumentRole::text || role == ArgumentRole::script || value.empty()) return;
  if (harmless_target(value) && role != ArgumentRole::enter) return;
  std::vector<std::string> spellings{std::string(value)};
  if (word.expands && !expand(value, spellings)) return unseen(role);
  if (role == ArgumentRole::enter) return enter(word, spellings);
  for (const std::string& spelling : spellings) {
    add_spelling(word, spelling, role);
    if (spelling.starts_with('@') && use_of(role).reads)
      add_spelling(word, spelling.substr(1), role);  // arguments in a file
  }
}

void ArgumentPaths::add_spelling(const ShellWord& word, std::string_view path, ArgumentRole role) {
  const bool elsewhere = path.starts_with('~') && path != "~" && !path.starts_with("~/");
  PathUse use = use_of(role);
  if (elsewhere || (word.expands && path.find('$') != std::string_view::npos)) {
    use.path = "/" + without_variables(path);
    use.sure = false;
    check_protected(word, use);
    if (elsewhere && use.writes) surprise(word, "which stands for a folder that cannot be seen");
    return unseen(role);
  }
  use.hidden = name_ != "rg" && name_ != "ag" && name_ != "ack" ? true : hidden_;
  use.fills_dots = name_ == "rsync" || name_ == "docker" || name_ == "find";
  use.sure = path.find_first_of("*?[") == std::string_view::npos;
  add_use(word, path, use);
}

void ArgumentPaths::add_use(const ShellWord& word, std::string_view path, PathUse use) {
  const bool relative = !path.starts_with('/') && !path.starts_with('~');
  if (relative && folders_.lost) (use.writes ? out_.unseen_writes : out_.unseen_reads) = true;
  if (out_.paths.size() >= most_paths) out_.unseen_reads = out_.unseen_writes = true;
  for (const std::string& folder : folders_.known) {
    if (out_.paths.size() >= most_paths) return;
    use.path = normalise_path(path, {folder, context_.home});
    if (use.path.empty()) continue;
    if (another_way_round(use.path) || climbs_from_afar(path, folder)) {
      out_.unseen_reads = true;
      out_.unseen_writes = out_.unseen_writes || use.writes || use.may_write;
    }
    use.folded = schema::fold_case(use.path);
    out_.paths.push_back(use);
    check_protected(word, use);
    if (!relative) break;
  }
}

bool ArgumentPaths::climbs_from_afar(std::string_view path, const std::string& folder) const {
  for (std::size_t at = path.find("/.."); at != std::string_view::npos; at = path.find("/..", at + 1)) {
    const std::string_view before = path.substr(0, at);
    const bool is_climbing = before.empty() || before == ".." || before.ends_with("/..");
    if (!is_climbing && !is_below(normalise_path(before, {folder, context_.home}), context_.cwd)) return true;
  }
  return false;
}

void ArgumentPaths::add_plain(std::string_view path, ArgumentRole role) {
  const ShellWord none;
  add_path(none, path, role);
}

void ArgumentPaths::check_protected(const ShellWord& word, const PathUse& use) {
  if (word.text.empty() || (!use.writes && !(use.may_write && program_ == nullptr && !resting_))) return;
  const std::vector<std::string> found = protections(use.path, context_);
  if (found.empty() && use.writes && base_name(use.path).starts_with('-'))
    surprise(word, "which makes a name that looks like an option");
  for (const std::string& name : found) {
    const std::size_t at = word.text.find(name);
    out_.surprises.push_back({word.at + (at == std::string::npos ? 0 : at),
                              at == std::string::npos ? word.text.size() : name.size(),
                              "\"" + word.text + "\", which decides what runs later", std::nullopt});
    if (use.sure && use.path.find(unknown_folder) != 0) out_.surprises.back().writes = use.path;
  }
}

void ArgumentPaths::enter(const ShellWord& word, const std::vector<std::string>& spellings) {
  std::vector<std::string> here;
  for (const std::string& path : spellings) {
    add_spelling(word, path, ArgumentRole::read);
    if (name_ != "cd" && name_ != "pushd" && name_ != "chdir") continue;
    if (path == "-" || path.find_first_of("$*?[") != std::string::npos || path.starts_with('+') ||
        folders_.known.size() > 8) {
      folders_.lost = true;
      continue;
    }
    for (const std::string& folder : folders_.working()) here.push_back(normalise_path(path, {folder, context_.home}));
    for (std::size_t i = 0, count = folders_.known.size(); i < count; ++i) {
      std::string folder = normalise_path(path, {folders_.known[i], context_.home});
      if (folder.empty())
        folders_.lost = true;
      else if (std::ranges::find(folders_.known, folder) == folders_.known.end())
        folders_.known.push_back(std::move(folder));
    }
  }
  if (!here.empty()) folders_.here = std::move(here);
}

bool ArgumentPaths::expand(std::string_view value, std::vector<std::string>& out) const {
  out.clear();
  std::string plain(value);
  const std::pair<std::string_view, const std::string*> known[] = {
      {"${HOME}", &context_.home}, {"$HOME", &context_.home}, {"${PWD}", &context_.cwd}, {"$PWD", &context_.cwd}};
  for (const auto& [name, text] : known) {
    for (std::size_t at = plain.find(name); at != std::string::npos; at = plain.find(name, at + text->size())) {
      const std::size_t next = at + name.size();
      if (next < plain.size() && (std::isalnum(static_cast<unsigned char>(plain[next])) != 0 || plain[next] == '_'))
        break;
      if (text == &context_.cwd && (folders_.lost || folders_.known.size() > 1)) return false;
      plain.replace(at, name.size(), *text);
    }
  }
  std::vector<std::string> todo{plain};
  while (!todo.empty()) {
    if (out.size() + todo.size() > most_spellings) return false;
    const std::string text = std::move(todo.back());
    todo.pop_back();
    if (!split_braces(text, todo, out)) return false;
  }
  return true;
}

void ArgumentPaths::add_any(const ShellWord& word, std::string_view value) {
  if (shell_fills_anything(value)) out_.unseen_reads = true;
  std::vector<std::string> spellings{std::string(value)};
  if (word.expands && !expand(value, spellings)) {
    out_.unseen_reads = true;
    return;
  }
  for (const std::string& spelling : spellings) {
    add_token(word, spelling, true);
    if (spelling.starts_with('-') && spelling.size() > 2 && spelling[1] != '-')
      for (std::size_t at = 2; at < std::min<std::size_t>(spelling.size(), 10); ++at)
        add_token(word, std::string_view(spelling).substr(at), true);
    const std::size_t host = spelling.find("://");
    const std::size_t path = host == std::string::npos ? host : spelling.find('/', host + 3);
    if (path != std::string::npos) add_token(word, std::string_view(spelling).substr(path), true);
    for_each_token(spelling, [&](std::string_view token, bool whole) { add_token(word, token, whole); });
  }
}

void ArgumentPaths::add_token(const ShellWord& word, std::string_view path, bool sure) {
  if (path.empty() || path == "-" || path.size() > 1000) return;
  const std::size_t before = out_.paths.size();
  if (word.expands && path.find('$') != std::string_view::npos) return;
  PathUse use = use_of(ArgumentRole::any);
  use.fills_dots = name_ != "git";
  use.sure = sure && path.find_first_of("*?[") == std::string_view::npos;
  if (path.starts_with('~') && path != "~" && !path.starts_with("~/")) {
    if (path.find('/') != std::string_view::npos) out_.unseen_reads = true;
    return;
  }
  add_use(word, path, use);
  if (path.size() > 1 && path.starts_with('/') && before > 0) {  // `:/name` is below a repository
    use.sure = false;
    add_use(word, path.substr(1), use);
  }
}

void ArgumentPaths::surprise(const ShellWord& word, std::string_view why) {
  out_.surprises.push_back({word.at, word.text.size(), "\"" + word.text + "\", " + std::string(why), std::nullopt});
}

}  // namespace inbox_poller::config
