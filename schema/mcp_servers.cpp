#include "schema/mcp_servers.hpp"

#include "schema/hook_settings.hpp"
#include "schema/json_edit.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::schema {

namespace {

using json_edit::Container;
using json_edit::Path;

std::string written(const McpServer& server) {
  std::string list;
  for (const std::string& argument : server.arguments) list += (list.empty() ? "" : ", ") + quote(argument);
  return json_edit::in_brackets('{',
                                json_edit::member("type", quote("stdio")) + ",\n" +
                                    json_edit::member("command", quote(server.command)) + ",\n" +
                                    json_edit::member("args", "[" + list + "]"),
                                '}');
}

McpServer server_of(std::string name, std::string_view text) {
  const auto decoded = [](std::optional<std::string_view> token) { return decode_string(token.value_or("")).value_or(""); };
  McpServer server{std::move(name), decoded(find_member(text, "command")), {}};
  const std::string_view list = find_member(text, "args").value_or("");
  for (const Span& one : scan_array(list).elements) server.arguments.push_back(decoded(one.of(list)));
  return server;
}

/// Returns the path as far as the place exists. The last level is the object in which the next key is missing.
Result<Path> way_to(std::string_view text, const ServersPlace& place) {
  TRY(auto root, json_edit::root_of(text));
  Path path{{std::move(root), 0}};
  for (const std::string& key : place) {
    const auto at = json_edit::place_of(text, path.back().container, key);
    if (!at) return path;
    path.back().place = *at;
    TRY(auto inner, json_edit::object_at(text, path.back().container.values[*at]));
    path.push_back({std::move(inner), 0});
  }
  return path;
}

/// Returns the path to the server of this name; empty if there is none.
Result<Path> way_to(std::string_view text, const ServersPlace& place, std::string_view name) {
  TRY(auto path, way_to(text, place));
  if (path.size() <= place.size()) return Path();
  const auto at = json_edit::place_of(text, path.back().container, name);
  if (!at) return Path();
  path.back().place = *at;
  return path;
}

std::string_view at_end(std::string_view text, const Path& path) {
  return path.back().container.values[path.back().place].of(text);
}

}  // namespace

bool is_ours(const McpServer& server) {
  return is_our_program(server.command) && !server.arguments.empty() && server.arguments.front() == "mcp";
}

Result<std::string> with_server(const std::optional<std::string>& settings, const ServersPlace& place,
                                const McpServer& server) {
  std::string text = settings.value_or("");
  if (text.find_first_not_of(json_edit::white) == std::string::npos) text.clear();
  const std::string value = written(server);
  if (!text.empty()) {
    TRY(const auto there, way_to(text, place, server.name));
    if (!there.empty()) {
      const std::string_view known = at_end(text, there);
      if (json_edit::without_white_space(known) == json_edit::without_white_space(value)) return text;
      if (!is_ours(server_of(server.name, known)))
        return Error{"settings.unusable", "there is another server called \"" + printable(server.name) +
                                              "\"; give ours another name with --name"};
      text = json_edit::without(text, there).value_or("");
    }
  }
  TRY(const auto path, text.empty() ? Result<Path>(Path()) : way_to(text, place));
  std::string part = json_edit::member(server.name, value);
  const std::size_t known = path.empty() ? 0 : path.size() - 1;
  for (std::size_t i = place.size(); i > known; --i)
    part = json_edit::member(place[i - 1], json_edit::in_brackets('{', part, '}'));
  if (path.empty()) return json_edit::in_brackets('{', part, '}') + "\n";
  return json_edit::with_part(text, path.front().container, path.back().container, part);
}

Result<std::optional<std::string>> without_server(std::string_view settings, const ServersPlace& place,
                                                  std::string_view name) {
  std::optional<std::string> text(settings);
  if (settings.find_first_not_of(json_edit::white) == std::string_view::npos) return text;
  TRY(const auto there, way_to(settings, place, name));
  if (there.empty() || !is_ours(server_of(std::string(name), at_end(settings, there)))) return text;
  auto rest = json_edit::without(settings, there);
  if (rest) return rest;
  // All of the object was InboxPoller's. Only a file that InboxPoller made ends with its newline.
  const std::size_t begin = settings.find('{');
  const std::string around = std::string(settings.substr(0, begin)) + std::string(settings.substr(settings.rfind('}') + 1));
  return begin == 0 && around == "\n" ? std::optional<std::string>() : std::optional(around);
}

Result<std::vector<McpServer>> servers_in(std::string_view settings, const ServersPlace& place) {
  std::vector<McpServer> found;
  if (settings.find_first_not_of(json_edit::white) == std::string_view::npos) return found;
  TRY(const auto path, way_to(settings, place));
  if (path.size() <= place.size()) return found;
  const Container& servers = path.back().container;
  for (std::size_t i = 0; i < servers.keys.size(); ++i)
    found.push_back(server_of(decode_string(servers.keys[i].of(settings)).value_or(""), servers.values[i].of(settings)));
  return found;
}

std::vector<std::string> projects_in(std::string_view settings) {
  std::vector<std::string> found;
  const auto path = way_to(settings, {"projects"});
  if (!path || path->size() < 2) return found;
  for (const Span& key : path->back().container.keys) found.push_back(decode_string(key.of(settings)).value_or(""));
  return found;
}

}  // namespace inbox_poller::schema
