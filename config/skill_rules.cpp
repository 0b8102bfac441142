#include "config/skill_rules.hpp"

#include "config/text.hpp"
#include "schema/fold.hpp"

namespace inbox_poller::config {
namespace {

std::string_view without_slash(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  return name;
}

}  // namespace

std::string skill_invocation(std::string_view name, std::string_view arguments) {
  name = without_slash(trimmed(name));
  const std::size_t end = std::min(name.find_first_of(any_blank), name.size());
  std::string text(name.substr(0, end));
  for (const std::string_view more : {trimmed(name.substr(end)), trimmed(arguments)})
    if (!more.empty()) text.append(" ").append(more);
  return text;
}

bool skill_matches(std::string_view written, std::string_view called, Side side) {
  std::string pattern(without_slash(written));
  std::string text(called);
  const bool names_plugin = pattern.ends_with(":*");
  const bool has_arguments = names_plugin || pattern.ends_with(" *");
  if (has_arguments) pattern.resize(pattern.size() - 2);
  if (side == Side::restrict) {
    pattern = schema::fold_case(pattern);
    text = schema::fold_case(text);
    if (has_arguments || pattern.find('*') != std::string::npos) return wildcard_match(pattern + "*", text);
    return text == pattern || text.starts_with(pattern + " ");
  }
  if (pattern.find('*') != std::string::npos) return wildcard_match(pattern + (has_arguments ? "*" : ""), text);
  if (text == pattern) return true;
  return has_arguments && (text.starts_with(pattern + " ") || (names_plugin && text.starts_with(pattern + ":")));
}

}  // namespace inbox_poller::config
