#include "config/protected_paths.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "config/path_pattern.hpp"
#include "schema/fold.hpp"

namespace inbox_poller::config {
namespace {

using Segments = std::vector<std::string_view>;

constexpr ProtectedRow rows[] = {
    {"any folder",
     ".git .gitmodules .gitconfig .githooks .hg .hgrc .svn .husky .claude .claude.json .mcp.json .codex .cursor "
     ".gemini .vscode "
     ".idea .devcontainer inbox-poller .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc "
     ".zshenv "
     ".zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .envrc .xprofile .xinitrc .xsession .xsessionrc "
     ".pam_environment .ssh .npmrc .yarnrc .yarnrc.yml .pypirc .condarc .gemrc .irbrc .pryrc .rprofile .vimrc .vim "
     ".exrc "
     ".emacs .emacs.d .gdbinit .lldbinit .tmux.conf .screenrc .curlrc .wgetrc .mailcap .forward .procmailrc .psqlrc "
     ".sqliterc sitecustomize.py usercustomize.py .local/bin .local/share/systemd .config/systemd .config/autostart "
     ".config/environment.d .config/fish .config/zsh .config/git .config/nvim .config/direnv .config/pip .cargo/config "
     ".cargo/config.toml .cargo/env .docker/config.json .kube/config .aws/config .m2/settings.xml .gradle/init.gradle "
     ".gradle/init.d node_modules/.bin .venv/bin venv/bin library/launchagents library/launchdaemons "
     "library/startupitems"},
    {"last name", "head"},
    {"outside of the worker's folder", "bin sbin shims"},
    {"Linux",
     "/etc /usr /bin /sbin /lib /lib32 /lib64 /boot /opt /nix /snap /var/spool/cron /var/spool/at /var/lib/systemd "
     "/proc /sys "
     "/dev"},
    {"macOS", "/System /Library /Applications /private/etc /private/var/at /private/var/db"},
};

constexpr std::string_view open_devices[] = {"/dev/shm", "/dev/tty", "/dev/pts", "/dev/fd", "/dev/null"};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

struct Protected {
  std::string_view text;  // as a rule names it
  std::string folded;
  Segments names;
};

struct Protections {
  std::vector<Protected> anywhere, last, outside, places;
  std::multimap<std::string_view, std::size_t> by_first_name;  // of `anywhere`; most names are none of these
};

const Protections& protections_table() {
  static const Protections built = [] {
    Protections all;
    for (const ProtectedRow& row : rows) {
      auto& into = row.where == "any folder"  ? all.anywhere
                   : row.where == "last name" ? all.last
                   : row.names[0] == '/'      ? all.places
                                              : all.outside;
      for (const std::string_view word : words_of(row.names)) into.push_back({word, schema::fold_case(word), {}});
    }
    for (auto* list : {&all.anywhere, &all.last, &all.outside, &all.places}) {
      for (Protected& one : *list) one.names = segments_of(one.folded);
    }
    for (std::size_t i = 0; i < all.anywhere.size(); ++i) all.by_first_name.emplace(all.anywhere[i].names.front(), i);
    return all;
  }();
  return built;
}

/// Returns true if this name is, or by its wildcards may be, the protected one.
bool may_be(std::string_view kept, std::string_view name, bool literal) {
  if (literal || name.find_first_of("*?[") == std::string_view::npos) return kept == name;
  return names_overlap(kept, name, false);
}

bool stands_at(const Protected& one, const Segments& parts, std::size_t at, bool literal) {
  if (at + one.names.size() > parts.size()) return false;
  for (std::size_t i = 0; i < one.names.size(); ++i) {
    if (!may_be(one.names[i], parts[at + i], literal)) return false;
  }
  return true;
}

bool lies_in(std::string_view path, std::string_view folder) {
  return !folder.empty() && path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::vector<std::string> protections_of(std::string_view path, const RuleContext& context, bool literal) {
  const std::string folded = schema::fold_case(path);
  const std::string own = schema::fold_case(context.cwd);
  const Segments parts = segments_of(folded);
  const bool inside = lies_in(folded, own);
  const std::size_t from = inside ? segments_of(own).size() : 0;
  std::vector<std::string> found;
  const auto add = [&](const Protected& one) { found.emplace_back(one.text); };
  const auto try_at = [&](const Protected& one, std::size_t at) {
    if (stands_at(one, parts, at, literal) && std::ranges::find(found, one.text) == found.end()) add(one);
  };
  const Protections& table = protections_table();
  for (std::size_t at = from; at < parts.size(); ++at) {
    const bool computed = !literal && parts[at].find_first_of("*?[") != std::string_view::npos;
    const auto [begin, end] = table.by_first_name.equal_range(parts[at]);
    for (auto it = begin; it != end; ++it) try_at(table.anywhere[it->second], at);
    for (std::size_t i = 0; computed && i < table.anywhere.size(); ++i) try_at(table.anywhere[i], at);
  }
  for (const Protected& one : protections_table().last) {
    if (parts.size() > from && parts.back() == one.folded) add(one);
  }
  const bool device = std::ranges::any_of(open_devices, [&](std::string_view open) { return lies_in(folded, open); });
  for (const Protected& one : protections_table().places) {
    const bool stands_in_it = own.size() > one.folded.size() && lies_in(own, one.folded);
    if (!device && !(inside && stands_in_it) && stands_at(one, parts, 0, literal)) add(one);
  }
  if (inside) return found;
  for (const Protected& one : protections_table().outside) {
    if (std::ranges::any_of(parts, [&](std::string_view name) { return may_be(one.folded, name, literal); })) add(one);
  }
  return found;
}

}  // namespace

std::vector<std::string> protections(std::string_view path, const RuleContext& context) {
  return protections_of(path, context, false);
}

bool may_write(std::string_view pattern, std::string_view path, const RuleContext& context) {
  const std::string folded = schema::fold_case(pattern);
  const Segments named = segments_of(folded);
  RuleContext places = context;
  std::vector<std::string> found = protections_of(path, places, true);
  places.cwd.clear();  // for a pattern, names above the worker's directory count as well
  for (const std::string& one : protections_of(path, places, true)) {
    if (one.starts_with('.') || one == "inbox-poller") found.push_back(one);
  }
  if (const auto last = path.substr(path.rfind('/') + 1); last.starts_with('-'))
    found.emplace_back(last);  // a later `*` passes it as an option
  return std::ranges::all_of(found, [&](const std::string& one) {
    const std::string name = schema::fold_case(one);
    const Segments wanted = segments_of(name);
    return std::search(named.begin(), named.end(), wanted.begin(), wanted.end()) != named.end();
  });
}

std::vector<ProtectedRow> protected_rows() { return {std::begin(rows), std::end(rows)}; }

}  // namespace inbox_poller::config
