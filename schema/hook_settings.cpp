#include "schema/hook_settings.hpp"

#include <algorithm>
#include <iterator>

#include "schema/field_reader.hpp"
#include "schema/json_edit.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::schema {

using namespace json_edit;

namespace {

constexpr std::string_view lead_events[] = {"SessionStart",      "UserPromptSubmit", "PreToolUse",   "PostToolUse",
                                            "PermissionRequest", "Notification",     "Stop",         "StopFailure",
                                            "SessionEnd",        "TeammateIdle",     "TaskCompleted"};
/// PreToolUse fires before the client checks its own rules and asks its lead, and names the call. Stop has the last
/// text of the turn.
constexpr std::string_view worker_events[] = {"PreToolUse", "Stop"};

// --- writing ---

/// Returns the exec form, or one line for a shell if the client does not support the exec form.
std::string handler(const HookProgram& program, std::vector<std::string> arguments, std::string_view more) {
  arguments.insert(arguments.end(), program.options.begin(), program.options.end());
  std::string command = program.path;
  std::string list;
  if (can(program.client, Ability::takes_arguments)) {
    for (const std::string& argument : arguments)
      list += (list.empty() ? "\n        " : ",\n        ") + quote(argument);
    list = "\n      \"args\": [" + list + "\n      ],";
  } else {
    command = shell_word(command);
    for (const std::string& argument : arguments) command += ' ' + shell_word(argument);
  }
  return "\n    {\n      \"type\": \"command\",\n      \"command\": " + quote(command) + "," + list + "\n      " +
         std::string(more) + "\n    }";
}

/// A second handler, which outlives the event by up to a day, wakes a waiting session.
std::string group(std::string_view event, const HookProgram& program) {
  const bool leads = program.user == HookUser::lead;
  const std::vector<std::string> call =
      leads ? std::vector<std::string>{"hook"} : std::vector<std::string>{"hook", "worker"};
  std::string handlers = handler(program, call, "\"timeout\": 10");
  if (leads && can(program.client, Ability::is_woken) && (event == "SessionStart" || event == "Stop"))
    handlers += "," + handler(program, {"hook", "wait", "--timeout", "23h"},
                              "\"timeout\": 86400,\n      \"asyncRewake\": true");
  return "{\n  \"hooks\": [" + handlers + "\n  ]\n}";
}

std::string all_members(const HookProgram& program) {
  std::string members;
  for (const std::string_view event : hook_events(program.user, program.client))
    members += (members.empty() ? "" : ",\n") + member(event, in_brackets('[', group(event, program), ']'));
  return members;
}

// --- reading ---

/// Returns the words of a line as shell_word() writes it; empty if a shell would do more than start a program.
std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view special = "|&;<>()$`\"\n*?[]#~{}!";
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(white); at < line.size(); at = line.find_first_not_of(white, at)) {
    std::string word;
    bool quoted = false;
    for (; at < line.size() && (quoted || white.find(line[at]) == std::string_view::npos); ++at) {
      if (!quoted && special.find(line[at]) != std::string_view::npos) return {};
      if (line[at] == '\'')
        quoted = !quoted;
      else if (!quoted && line[at] == '\\' && at + 1 < line.size())
        word += line[++at];
      else
        word += line[at];
    }
    words.push_back(std::move(word));
  }
  return words;
}

struct Handler {
  std::vector<std::string> words;  // the program and its arguments
  bool has_arguments = false;
};

Handler handler_of(std::string_view handler_text) {
  Handler handler;
  const std::string command = decode_string(find_member(handler_text, "command").value_or("")).value_or("");
  const std::string_view args = find_member(handler_text, "args").value_or("");
  const ArrayScan list = scan_array(args);
  handler.has_arguments = !list.elements.empty();
  if (!handler.has_arguments) {
    handler.words = words_of(command);
    return handler;
  }
  handler.words.push_back(command);
  for (const Span& one : list.elements) handler.words.push_back(decode_string(one.of(args)).value_or(""));
  return handler;
}

/// Returns the user of a handler; nothing if the handler is not InboxPoller's.
std::optional<HookUser> user_of(const Handler& handler) {
  const auto& words = handler.words;
  if (words.size() < 2 || !is_our_program(words[0]) || words[1] != "hook") return std::nullopt;
  return words.size() > 2 && words[2] == "worker" ? HookUser::worker : HookUser::lead;
}

using Whose = std::optional<HookUser>;  // none: any

bool is_ours(std::string_view handler_text, Whose whose) {
  const auto user = user_of(handler_of(handler_text));
  return user && (!whose || user == whose);
}

/// Returns the path from a group to its first InboxPoller handler; empty if there is none, or if it is not a group.
Path ours_in_group(std::string_view text, Span group, Whose whose) {
  const auto object = object_at(text, group);
  const auto at = object ? place_of(text, *object, "hooks") : std::nullopt;
  if (!at) return {};
  const auto handlers = array_at(text, object->values[*at]);
  for (std::size_t i = 0; handlers && i < handlers->values.size(); ++i)
    if (is_ours(handlers->values[i].of(text), whose)) return {{*object, *at}, {*handlers, i}};
  return {};
}

/// Returns the path to the settings' object and, if present, its object of hooks.
Result<Path> path_to_hooks(std::string_view text) {
  TRY(auto root, root_of(text));
  Path path{{std::move(root), 0}};
  const auto hooks = place_of(text, path[0].container, "hooks");
  if (!hooks) return path;
  path[0].place = *hooks;
  TRY(auto inner, object_at(text, path[0].container.values[*hooks]));
  path.push_back({std::move(inner), 0});
  return path;
}

/// Returns the path to the first InboxPoller handler; empty if there is none.
Result<Path> find_ours(std::string_view text, Whose whose) {
  TRY(auto path, path_to_hooks(text));
  if (path.size() < 2) return Path();
  for (auto& event = path.back().place; event < path.back().container.values.size(); ++event) {
    TRY(const auto groups, array_at(text, path.back().container.values[event]));
    for (std::size_t i = 0; i < groups.values.size(); ++i) {
      const Path rest = ours_in_group(text, groups.values[i], whose);
      if (rest.empty()) continue;
      Path found = path;
      found.push_back({groups, i});
      found.insert(found.end(), rest.begin(), rest.end());
      return found;
    }
  }
  return Path();
}

// --- changes ---

/// Returns the text with InboxPoller's group after the event's other groups.
Result<std::string> with_event(const std::string& text, std::string_view event, const HookProgram& program) {
  TRY(auto path, path_to_hooks(text));
  const Container root = path.front().container;
  const std::string in_array = in_brackets('[', group(event, program), ']');
  if (path.size() < 2)
    return with_part(text, root, root, member("hooks", in_brackets('{', member(event, in_array), '}')));
  const Container& hooks = path.back().container;
  const auto place = place_of(text, hooks, event);
  if (!place) return with_part(text, root, hooks, member(event, in_array));
  TRY(const auto groups, array_at(text, hooks.values[*place]));
  return with_part(text, root, groups, group(event, program));
}

/// Returns true if each event has exactly the group that with_event() adds, and no other for the same user.
Result<bool> is_there(std::string_view text, const HookProgram& program) {
  TRY(const auto path, path_to_hooks(text));
  if (path.size() < 2) return false;
  const Container& hooks = path.back().container;
  std::size_t good = 0;
  for (std::size_t i = 0; i < hooks.parts.size(); ++i) {
    const std::string event = decode_string(hooks.keys[i].of(text)).value_or("");
    const std::string wanted = without_white_space(group(event, program));
    TRY(const auto groups, array_at(text, hooks.values[i]));
    for (const Span& one : groups.values) {
      if (ours_in_group(text, one, program.user).empty()) continue;
      if (without_white_space(one.of(text)) != wanted) return false;
      ++good;
    }
  }
  const auto events = hook_events(program.user, program.client);
  if (good != events.size()) return false;
  return std::all_of(events.begin(), events.end(), [&](std::string_view event) {
    const auto place = place_of(text, hooks, event);
    const auto groups = place ? array_at(text, hooks.values[*place]) : Result<Container>(Container{});
    return groups && std::any_of(groups->values.begin(), groups->values.end(),
                                 [&](const Span& one) { return !ours_in_group(text, one, program.user).empty(); });
  });
}

}  // namespace

bool is_our_program(std::string_view path) {
  return path.substr(path.rfind('/') + 1).find("inbox-poller") != std::string_view::npos;
}

std::string hook_settings(const HookProgram& program) {
  return in_brackets('{', member("hooks", in_brackets('{', all_members(program), '}')), '}') + "\n";
}

std::vector<std::string_view> hook_events(HookUser user, const ClientVersion& client) {
  std::vector<std::string_view> events;
  const auto add = [&](const auto& list) {
    std::copy_if(std::begin(list), std::end(list), std::back_inserter(events),
                 [&](std::string_view event) { return takes_event(client, event); });
  };
  if (user == HookUser::lead)
    add(lead_events);
  else
    add(worker_events);
  return events;
}

Result<std::vector<SettingsHook>> hooks_in(std::string_view settings) {
  std::vector<SettingsHook> found;
  if (settings.find_first_not_of(white) == std::string_view::npos) return found;
  TRY(const auto path, path_to_hooks(settings));
  if (path.size() < 2) return found;
  const Container& hooks = path.back().container;
  for (std::size_t i = 0; i < hooks.parts.size(); ++i) {
    const std::string event = decode_string(hooks.keys[i].of(settings)).value_or("");
    const std::size_t before = found.size();
    TRY(const auto groups, array_at(settings, hooks.values[i]));
    for (const Span& group : groups.values) {
      const std::string_view handlers = find_member(group.of(settings), "hooks").value_or("");
      for (const Span& one : scan_array(handlers).elements) {
        const Handler handler = handler_of(one.of(handlers));
        const auto user = user_of(handler);
        found.push_back({event, user, handler.has_arguments, find_member(one.of(handlers), "asyncRewake") == "true",
                         user ? handler.words[0] : ""});
      }
    }
    if (found.size() == before) found.push_back({event, std::nullopt, false, false});
  }
  return found;
}

Result<std::optional<std::string>> without_hooks(std::string_view settings, std::optional<HookUser> whose) {
  std::optional<std::string> text(settings);
  if (settings.find_first_not_of(white) == std::string_view::npos) return text;
  for (;;) {
    TRY(const auto ours, find_ours(*text, whose));
    if (ours.empty()) return text;
    auto rest = without(*text, ours);
    if (!rest) {
      // All of the object was InboxPoller's. Only a file that InboxPoller made ends with its newline.
      const std::size_t begin = text->find('{');
      const std::string around = text->substr(0, begin) + text->substr(text->rfind('}') + 1);
      return begin == 0 && around == "\n" ? std::optional<std::string>() : std::optional(around);
    }
    text = std::move(rest);
  }
}

Result<std::string> with_hooks(std::string_view settings, const HookProgram& program) {
  if (settings.find_first_not_of(white) != std::string_view::npos) {
    TRY(const auto there, is_there(settings, program));
    if (there) return std::string(settings);
  }
  TRY(auto rest, without_hooks(settings, program.user));
  if (!rest) return hook_settings(program);
  std::string text = *std::move(rest);
  if (text.find_first_not_of(white) == std::string::npos) {
    const std::string all = hook_settings(program);
    return text + all.substr(0, all.size() - 1);
  }
  for (const std::string_view event : hook_events(program.user, program.client)) {
    TRY(auto next, with_event(text, event, program));
    text = std::move(next);
  }
  return text;
}

}  // namespace inbox_poller::schema
