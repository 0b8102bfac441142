// Examination of the clients' settings files. A client skips a whole file for one event that it does not know. Each
// update or downgrade of a client can cause that.
#include <algorithm>
#include <cerrno>
#include <set>

#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/settings_file.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller::cli {

namespace {

using schema::HookUser;
using schema::SettingsHook;

bool is_for(const SettingsHook& hook, HookUser user) { return hook.ours == user; }

std::string hook_command(const SettingsSight& file, const std::string& what) {
  return (file.folder.empty() ? "" : "cd " + shell_word(file.folder) + " && ") + "inbox-poller hook " + what +
         (file.scope == "user" ? "" : " --scope " + file.scope);
}

std::string install_again(const SettingsSight& file, HookUser user) {
  return hook_command(file, user == HookUser::worker ? "install --target workers" : "install");
}

bool has_ours(const SettingsSight& file) {
  return std::ranges::any_of(file.hooks, [](const SettingsHook& hook) { return hook.ours.has_value(); });
}

/// Returns this program's plugin if the settings enable it, such as "inbox-poller@market"; otherwise an empty text.
std::string enabled_plugin(std::string_view settings) {
  const std::string_view plugins = schema::find_member(settings, "enabledPlugins").value_or("");
  for (const schema::MemberSpan& one : schema::scan_members(plugins).members) {
    std::string name = schema::decode_string(one.key.of(plugins)).value_or("");
    if (name.starts_with("inbox-poller@") && one.value.of(plugins) != "false") return name;
  }
  return "";
}

/// Reports the enabled plugin, and each settings file whose hooks run next to the plugin's.
Findings judge_plugin(const Finding& plugin, const std::vector<SettingsSight>& files) {
  Findings findings;
  if (plugin.what.empty()) return findings;
  for (const SettingsSight& file : files)
    if (has_ours(file))
      findings.push_back(
          {Severity::warning, "settings.twice",
           "our hooks are here and in the plugin of " + plugin.where + ", so each event starts them twice", file.path,
           hook_command(file, "uninstall")});
  if (findings.empty()) findings.push_back(plugin);
  return findings;
}

/// Reports events that make this client skip the whole file, including this program's hooks.
Findings judge_events(const SettingsSight& file, const Client& client) {
  Findings findings;
  std::set<std::string> told;
  for (const SettingsHook& hook : file.hooks) {
    if (schema::takes_event(*client.version, hook.event) || !told.insert(hook.event).second) continue;
    findings.push_back({Severity::error, "settings.event",
                        to_string(client) + " does not know the hook event " + hook.event +
                            " and skips the whole file, its permissions included",
                        file.path,
                        hook.ours ? install_again(file, *hook.ours)
                                  : "take " + hook.event + " out of the file, or update that client"});
  }
  return findings;
}

Finding in_order(const SettingsSight& file, HookUser user, const std::vector<Client>& clients) {
  if (clients.empty())
    return {Severity::note, "settings.unexamined",
            "no client is in PATH and none runs, so whether one takes our hooks was not examined", file.path, ""};
  return {Severity::ok, "settings.hooks",
          std::string("our hooks for ") + (user == HookUser::lead ? "the lead" : "workers") +
              " are such as every client here takes",
          file.path, ""};
}

/// Compares this program's hooks for one user with those that `hook install` would write now.
Findings judge_ours(const SettingsSight& file, HookUser user, const std::vector<Client>& clients) {
  const auto has = [&](const auto& fits) {
    return std::any_of(file.hooks.begin(), file.hooks.end(),
                       [&](const SettingsHook& hook) { return is_for(hook, user) && fits(hook); });
  };
  if (!has([](const SettingsHook&) { return true; })) return {};
  const schema::ClientVersion version = oldest_of(clients);
  const std::string oldest = "client " + schema::to_string(version);
  const std::string mend = install_again(file, user);
  const bool old = !schema::can(version, schema::Ability::takes_arguments);
  if (!clients.empty() && old && has([](const SettingsHook& hook) { return hook.has_arguments; }))
    return {{Severity::error, "settings.arguments",
             oldest + " starts our hooks without their arguments, so they do nothing", file.path, mend}};
  const bool is_woken = schema::can(version, schema::Ability::is_woken);
  if (!clients.empty() && !is_woken && has([](const SettingsHook& hook) { return hook.wakes; }))
    return {{Severity::error, "settings.arguments", oldest + " waits for a hook that is to wake it, up to a day",
             file.path, mend}};
  for (const std::string_view event : schema::hook_events(user, version))
    if (!has([&](const SettingsHook& hook) { return hook.event == event; }))
      return {{Severity::warning, "settings.missing",
               "our hooks lack " + std::string(event) + ", which " + oldest +
                   " knows: they were written for an older client, or by an older version of this program",
               file.path, mend}};
  const bool wakes = has([](const SettingsHook& hook) { return hook.wakes; });
  if (!clients.empty() && is_woken && user == HookUser::lead && !wakes)
    return {{Severity::warning, "settings.missing",
             "our hooks were written for an older client: " + oldest + " could be woken by them when it is idle",
             file.path, mend}};
  return {in_order(file, user, clients)};
}

/// Reports hooks of this program whose executable was moved or removed.
Findings look_for_programs(const World& world, const SettingsSight& file) {
  std::set<std::string> told;
  Findings findings;
  for (const SettingsHook& hook : file.hooks) {
    if (!hook.ours || !hook.program.starts_with('/') || !told.insert(hook.program).second) continue;
    const auto stat = world.files.stat_at(absolute, hook.program);
    if (stat || !is_errno(stat.error(), ENOENT)) continue;
    findings.push_back({Severity::error, "settings.program",
                        "our hooks start " + hook.program + ", which is not there: the client goes on without them",
                        file.path, install_again(file, *hook.ours) + "; or, to be rid of them, inbox-poller hook uninstall"});
  }
  return findings;
}

/// Reports settings that disable hooks where clients work; only a note when no file has hooks of this program.
Findings look_for_switches(const World& world, const std::set<std::string>& folders, bool has_ours) {
  Findings findings;
  std::set<std::string> told;
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/')) continue;
    for (const HookSilence& silence : silenced_hooks(world.files, folder, world.managed_settings)) {
      if (!told.insert(silence.file + silence.key).second) continue;
      const Severity severity = !has_ours ? Severity::note : silence.is_certain ? Severity::error : Severity::warning;
      findings.push_back({severity, silence.key.empty() ? "settings.unread" : "settings.hooks_off", to_string(silence),
                          silence.file,
                          silence.key.empty() ? "ls -ld " + shell_word(silence.file) + ", and make it readable JSON"
                                              : "take " + silence.key + " out of the file, or ask who administers it"});
    }
  }
  return findings;
}

}  // namespace

Findings judge_settings(const SettingsSight& file, const std::vector<Client>& clients) {
  Findings findings;
  bool skipped = false;
  for (const Client& client : clients) {
    if (!client.version) continue;
    Findings events = judge_events(file, client);
    skipped = skipped || !events.empty();
    std::move(events.begin(), events.end(), std::back_inserter(findings));
  }
  for (const HookUser user : {HookUser::lead, HookUser::worker}) {
    if (skipped) break;  // the same command fixes all other findings
    Findings ours = judge_ours(file, user, clients);
    std::move(ours.begin(), ours.end(), std::back_inserter(findings));
  }
  return findings;
}

Findings examine_settings(const World& world, const std::set<std::string>& folders) {
  Findings findings;
  std::vector<SettingsSight> files;
  Finding plugin{Severity::ok, "settings.plugin", "", "", ""};
  const auto look = [&](const Result<std::filesystem::path>& path, const std::string& scope,
                        const std::string& folder) {
    if (!path) return;
    const auto settings = read_settings(world.files, *path);
    if (!settings || !settings->text) return;
    const std::string name = settings->path().string();
    if (std::any_of(files.begin(), files.end(), [&](const SettingsSight& file) { return file.path == name; })) return;
    if (const std::string enabled = enabled_plugin(*settings->text); plugin.what.empty() && !enabled.empty()) {
      plugin.what = "the plugin " + printable(enabled) + " is enabled here, and has our hooks";
      plugin.where = name;
    }
    auto hooks = schema::hooks_in(*settings->text);
    if (!hooks) {
      findings.push_back(
          {Severity::note, "settings.syntax", "its hooks cannot be looked at: " + hooks.error().message, name, ""});
    } else if (!hooks->empty()) {
      files.push_back({name, scope, folder, *std::move(hooks)});
    }
  };
  look(settings_path("user"), "user", "");
  for (const std::string& folder : folders)
    for (const char* name : {"settings.json", "settings.local.json"})
      if (folder.starts_with('/')) look(std::filesystem::path(folder) / ".claude" / name, "project", folder);
  add(findings, judge_plugin(plugin, files));
  const bool is_used = !plugin.what.empty() || std::ranges::any_of(files, has_ours);
  Findings switches = look_for_switches(world, folders, is_used);
  const bool are_off = std::ranges::any_of(switches, [](const Finding& one) { return one.check == "settings.hooks_off"; });
  add(findings, std::move(switches));
  if (files.empty()) return findings;
  const std::vector<Client> clients = world.clients();
  for (const Client& client : clients)
    if (!client.version)
      findings.push_back({Severity::note, "client.version",
                          "its version is not known, so it counts as the oldest: " + client.problem, client.path, ""});
  for (const SettingsSight& file : files) {
    Findings judged = look_for_programs(world, file);
    if (judged.empty()) judged = judge_settings(file, clients);  // the same command fixes all other findings
    if (are_off) std::erase_if(judged, [](const Finding& one) { return one.severity == Severity::ok; });
    std::move(judged.begin(), judged.end(), std::back_inserter(findings));
  }
  return findings;
}

}  // namespace inbox_poller::poller::cli
