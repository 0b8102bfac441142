#include "config/path_pattern.hpp"

#include <algorithm>
#include <vector>

#include "config/text.hpp"
#include "schema/fold.hpp"

namespace inbox_poller::config {
namespace {

using Segments = std::vector<std::string_view>;

/// Dynamic program over (pattern segment, path segment), so that many `**` cost no more than a table. `reached[j]`: the
/// pattern so far can cover exactly the first j segments.
bool segments_match(const Segments& pattern, const Segments& path, bool below_too) {
  std::vector<bool> reached(path.size() + 1, false);
  reached[0] = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool last = i + 1 == pattern.size();
    std::vector<bool> next(path.size() + 1, false);
    if (pattern[i] == "**") {  // at the end, at least one segment: the contents, not the directory itself
      bool seen = false;
      for (std::size_t j = 0; j <= path.size(); ++j) {
        next[j] = last ? seen : seen || reached[j];
        seen = seen || reached[j];
      }
    } else {
      for (std::size_t j = 0; j < path.size(); ++j)
        next[j + 1] = reached[j] && wildcard_match(pattern[i], path[j], true);
    }
    reached = std::move(next);
  }
  return below_too ? std::find(reached.begin() + 1, reached.end(), true) != reached.end() : reached.back();
}

}  // namespace

std::string below_start(std::string_view pattern, Side side) {
  for (const std::string_view start : {"//", "~/", "./", "/"}) {
    if (pattern.starts_with(start)) return std::string(pattern.substr(start.size()));
  }
  std::string_view name = pattern;
  if (name.ends_with("/**")) name.remove_suffix(3);
  if (name.ends_with("/")) name.remove_suffix(1);
  const bool one_segment = name.find('/') == std::string_view::npos;
  const bool names_folder = name.size() != pattern.size();
  const bool any_depth = one_segment && (!names_folder || side == Side::restrict);
  return (any_depth ? "**/" : "") + std::string(pattern);
}

std::vector<std::string_view> segments_of(std::string_view path) {
  Segments found;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) found.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return found;
}

std::string normalise_path(std::string_view path, const RuleContext& context) {
  std::string full(path);
  if (path == "~" || path.starts_with("~/")) {
    full = context.home.empty() ? "" : context.home + full.substr(1);
  } else if (path.starts_with('~')) {
    return "";
  } else if (!path.empty() && !path.starts_with('/')) {
    full = context.cwd.empty() ? "" : context.cwd + "/" + full;
  }
  if (full.empty()) return "";
  Segments kept;
  for (const std::string_view part : segments_of(full)) {
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (part != ".") {
      kept.push_back(part);
    }
  }
  std::string out;
  for (const std::string_view part : kept) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

std::optional<std::string> path_doubt(std::string_view path, const RuleContext& context) {
  if (path.empty()) return "names no path";
  if (const auto odd = find_odd_character(path, LineBreaks::refused)) return "names a path with " + *odd;
  const Segments parts = segments_of(path);
  if (std::ranges::find(parts, "..") != parts.end()) return "names a path with \"..\"";
  if (normalise_path(path, context).empty()) return "names a relative path, and its starting point is not known";
  return std::nullopt;
}

bool path_matches(std::string_view written, std::string_view path, const RuleContext& context, Side side) {
  // The base is compared literally, because it may come from a roster. A directory called `*` must not widen a rule.
  const bool absolute = written.starts_with("//");
  const bool at_home = written.starts_with("~/");
  std::string base = absolute ? "/" : at_home ? context.home : context.cwd;
  std::string pattern = below_start(written, side);
  if (base.empty() && side == Side::restrict && !at_home) {  // it may start anywhere
    base = "/";
    pattern = "**/" + pattern;
  }
  if (path.empty() || base.empty()) return false;
  if (written.ends_with('/')) pattern += "/**";
  std::string target(path);
  if (side == Side::restrict) {
    for (std::string* text : {&base, &pattern, &target}) *text = schema::fold_case(*text);
  }
  const Segments start = segments_of(base);
  Segments rest = segments_of(target);
  if (rest.size() < start.size() || !std::equal(start.begin(), start.end(), rest.begin())) return false;
  rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(start.size()));
  return segments_match(segments_of(pattern), rest, side == Side::restrict);
}

bool names_overlap(std::string_view of_rule, std::string_view of_path, bool fills_dots) {
  if (of_path.find_first_of("*?[") == std::string_view::npos) return wildcard_match(of_rule, of_path, true);
  const bool hidden = of_rule.starts_with('.') && !of_path.starts_with('.');
  if (hidden && !fills_dots) return false;  // a shell's `*` begins no name with a dot
  std::string plain;
  for (std::size_t i = 0; i < of_path.size(); ++i) {
    const std::size_t close = of_path[i] == '[' ? of_path.find(']', i + 2) : std::string_view::npos;
    const bool classes = of_path.substr(i + 1, close - i).find('[') != std::string_view::npos;  // [[:alpha:]_]
    if (close == std::string_view::npos)
      plain += of_path[i];
    else
      plain += classes ? '*' : '?', i = classes ? of_path.rfind(']') : close;
  }
  return wildcards_overlap(of_rule, plain);
}

PathRule::PathRule(std::string_view written, const RuleContext& context) {
  const bool at_root = written.starts_with("//");
  const std::string& base = written.starts_with("~/") ? context.home : context.cwd;
  text_ = at_root || base == "/" ? "" : schema::fold_case(base);
  base_ = text_.size();
  const std::string pattern =
      schema::fold_case(below_start(written, Side::restrict)) + (written.ends_with('/') ? "/**" : "");
  text_ += !at_root && base.empty() ? "/**/" + pattern : "/" + pattern;
  literal_ = text_.find_first_of("*?", base_);
  if (literal_ != std::string::npos) literal_ = text_.rfind('/', literal_);
  literal_ = std::min(literal_, text_.size());
  only_wildcards_ = pattern.find_first_not_of("*?/") == std::string::npos;
  hidden_ = text_.find("/.", base_) != std::string::npos;
}

std::string_view PathRule::last_name() const { return std::string_view(text_).substr(text_.rfind('/') + 1); }

PathReach PathRule::reach(std::string_view folded, bool fills_dots) const {
  PathReach reach;
  if (folded.empty()) return reach;
  const bool glob = folded.find_first_of("*?[") != std::string_view::npos;
  if (!glob) {  // a quick exit for the many rules that cannot apply
    const std::string_view literal = std::string_view(text_).substr(0, literal_);
    const std::size_t common = folded == "/" ? 0 : std::min(literal.size(), folded.size());
    if (literal.substr(0, common) != folded.substr(0, common)) return reach;
  }
  Segments rule = segments_of(std::string_view(text_).substr(0, base_));
  const std::size_t start = rule.size();
  for (const std::string_view name : segments_of(std::string_view(text_).substr(base_))) rule.push_back(name);
  // As in segments_match, but every step of both sides may stand for several; `strict` omits what only a `**` matched.
  std::vector<char> reached(rule.size() + 1, 0);
  reached[0] = 1;
  const auto skip_stars = [&](std::vector<char>& states) {
    for (std::size_t i = start; i + 1 < rule.size(); ++i) {
      if (rule[i] == "**" && states[i] != 0) states[i + 1] = 1;
    }
  };
  skip_stars(reached);
  std::vector<char> strict = reached;
  for (const std::string_view name : segments_of(folded)) {
    std::vector<char> next(rule.size() + 1, 0);
    std::vector<char> next_strict(rule.size() + 1, 0);
    for (std::size_t i = 0; i < rule.size(); ++i) {
      if (reached[i] == 0) continue;
      const bool any_folders = i >= start && rule[i] == "**";
      if (name == "**") std::fill(next.begin() + static_cast<std::ptrdiff_t>(i), next.end(), char{1});
      if (any_folders) next[i] = 1;
      if (any_folders && i + 1 == rule.size()) next[i + 1] = 1;
      const bool fits = i < start && !glob ? rule[i] == name : names_overlap(rule[i], name, fills_dots);
      if (any_folders || !fits) continue;
      next[i + 1] = 1;
      next_strict[i + 1] = strict[i];
    }
    skip_stars(next);
    skip_stars(next_strict);
    reached = std::move(next);
    strict = std::move(next_strict);
    reach.matches = reach.matches || reached.back() != 0;
  }
  reach.holds = std::find(reached.begin(), reached.end() - 1, 1) != reached.end() - 1;
  reach.leads = std::find(strict.begin(), strict.end() - 1, 1) != strict.end() - 1;
  return reach;
}

}  // namespace inbox_poller::config
