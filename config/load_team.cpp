#include <algorithm>
#include <filesystem>
#include <tuple>

#include "config/load.hpp"
#include "config/load_section.hpp"
#include "config/rule_advice.hpp"
#include "config/units.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration shortest_wait = seconds(1);
constexpr Duration longest_wait = hours(24 * 7);

// Acknowledgments that an operator must write before a dangerous setting takes effect.
constexpr std::string_view default_allow = "default-allow";
constexpr std::string_view any_host = "any-host";
constexpr std::string_view bypass_ceiling = "bypass-ceiling";
constexpr std::string_view wide_modes = "wide-modes";

/// Returns true for letters, digits, '.', '_', '-', as in names of team directories and inboxes, and for a glob's
/// stars.
bool is_plain_name(std::string_view name, bool glob) {
  const auto plain = [glob](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || (glob && c == '*');
  };
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, plain);
}

std::string default_root(const Environment& environment) {
  if (!environment.claude_config_dir.empty()) return environment.claude_config_dir + "/teams";
  return environment.home.empty() ? "" : environment.home + "/.claude/teams";
}

Result<PermissionRule> allow_rule(std::string_view text) {
  auto rule = parse_permission_rule(text);
  if (!rule) return rule;
  const auto why = why_never_allows(*rule);
  return why ? Error{"config.rule", toml_text(text) + " would allow nothing: " + *why} : rule;
}

Result<std::string> alias_of(const std::string& lead, const std::string& text) {
  if (!schema::is_valid_name(text))
    return Error{"config.name", toml_text(text) + " is not an inbox's name: letters, digits, '_' and '-', at most 64"};
  if (text == lead) return Error{"config.name", toml_text(text) + " is the lead's own name; name only other spellings"};
  return text;
}

Result<std::string> acknowledgment(const std::string& text) {
  if (text == default_allow || text == any_host || text == bypass_ceiling || text == wide_modes) return text;
  return Error{"config.acknowledgment", toml_text(text) + " acknowledges nothing; known are " +
                                            quoted_list({default_allow, any_host, bypass_ceiling, wide_modes})};
}

bool has(const std::vector<DeliveryMethod>& via, DeliveryMethod method) { return std::ranges::find(via, method) != via.end(); }

/// A reader of one file's sections, in the order of docs/reference/configuration.md.
struct TeamReader {
  const toml::table& document;
  const Environment& environment;
  Complaints& complaints;
  std::vector<std::string>& warnings;
  LoadedTeam& out;
  std::vector<std::string> understood = {};

  void read() {
    read_team();
    read_permissions();
    read_sandbox();
    read_plans();
    read_modes();
    read_shutdown();
    read_delivery();
    read_approver();
    read_tasks();
    read_lead();
    read_compaction();
    load_cluster(document, environment.home, complaints, out);
    if (const auto& cluster = out.config.cluster; !cluster.node.empty() && out.config.team.role == Role::follower &&
                                              std::ranges::none_of(cluster.members, [&](const auto& one) { return one.first == cluster.node; }))
      warn("[cluster.members] names no member on this node, " + toml_text(cluster.node) + ": other nodes reject messages from here");
    read_limits();
    tell_what_is_not_carried(document, complaints, warnings, out);
    section("").finish({"team", "permissions", "sandbox", "plans", "modes", "shutdown", "delivery", "approver", "tasks", "lead",
                        "compaction", "cluster", "limits"});
  }

  Section section(std::string name) { return {document, std::move(name), complaints, out.settings}; }

  /// Reports a rule with an unexpected effect; `text` begins with its place.
  void slip(std::string text) {
    warnings.push_back(text);
    out.slips.push_back(std::move(text));
  }

  void warn(std::string_view text) { warnings.push_back(complaints.file + ": " + std::string(text)); }

  /// Accepts a dangerous value only if acknowledged, and then warns.
  void dangerous(Section& from, std::string_view key, std::string_view acknowledgment, std::string_view consequence) {
    const bool known = std::ranges::find(understood, acknowledgment) != understood.end();
    if (known) return warn(std::string(consequence) + " (team.accept_risks says that this is meant)");
    from.reject(key, "is dangerous: " + std::string(consequence) + "; if that is meant, write \"" +
                         std::string(acknowledgment) + "\" into the list team.accept_risks");
  }

  /// Warns about a setting without effect, but accepts it, because the role may be changed for a day.
  void only_a_leader(bool is_written, std::string_view what) {
    const Role role = out.config.team.role;
    if (is_written && role != Role::leader)
      warn(std::string(what) + " has no effect with team.role = \"" + std::string(to_string(role)) + "\"");
  }

  /// Follows the links once, so that a later change of a link has no effect. A missing directory stays as written.
  void follow_links(TeamSettings& to) {
    while (to.root.size() > 1 && to.root.back() == '/') to.root.pop_back();
    std::error_code failure;
    const std::string real = std::filesystem::canonical(to.root, failure).string();
    if (failure || real == to.root) return;
    warn("team.root leads by a link to " + real + ", which is used until the configuration is read again");
    to.tasks_root = to.root.substr(0, to.root.rfind('/')) + "/tasks";  // next to the link, where clients have it
    to.root = real;
  }

  void read_team() {
    Section team = section("team");
    TeamSettings& to = out.config.team;
    team.text("name", to.name);
    if (!is_plain_name(to.name, true)) {
      team.reject("name", to.name.empty()
                              ? "is missing; write the team's name, or a glob such as \"session-*\""
                              : "is not a team's name: only letters, digits, '.', '_', '-' and '*', at most 64");
    }
    to.root = default_root(environment);
    team.path("root", to.root, environment.home);
    if (to.root.empty())
      team.reject("root", "cannot be chosen by default, because neither CLAUDE_CONFIG_DIR nor HOME is set; write it");
    follow_links(to);
    team.text("lead", to.lead);
    if (!to.lead.empty() && !is_plain_name(to.lead, false)) {
      team.reject("lead", "is not a member's name: only letters, digits, '.', '_' and '-', at most 64");
    }
    team.choice("role", to.role);
    team.choice("backend", to.backend);
    load_backend(team, environment.home, to);
    if (to.role == Role::interceptor) to.poll_interval = Duration(100);  // to answer before the lead
    team.duration("poll_interval", to.poll_interval, Duration(50), minutes(1));
    team.flag("watch", to.watch);
    team.list("aliases", to.aliases, [&](const std::string& text) { return alias_of(to.lead, text); });
    team.path("tasks", to.tasks, environment.home);
    if (!to.tasks.empty() && to.is_glob())
      team.reject("tasks", "is one team's folder, but team.name stands for many; leave it out, or name the team");
    team.choice("on_competing_consumer", to.on_competing_consumer);
    only_a_leader(to.on_competing_consumer != OnCompetingConsumer::stop, "team.on_competing_consumer");
    team.duration("unresponsive_after", to.unresponsive_after, shortest_wait, longest_wait);
    team.list("accept_risks", understood, acknowledgment);
    team.finish();
  }

  /// Reads [permissions] or [sandbox], which have the same keys. They differ in the form of a rule and in what `allow`
  /// accepts. An invalid line of `allow` allows nothing; an invalid line of `ask` or `deny` refuses the file, because
  /// more would be allowed without it.
  template <class Rule, class Settings>
  void read_policy(Section& from, RuleSet<Rule>& rules, Settings& to, Result<Rule> (*parse_allow)(std::string_view),
                   Result<Rule> (*parse)(std::string_view)) {
    from.list("allow", rules.allow, parse_allow, [&](const std::string& text, const Error& error) {
      slip(from.place_of("allow", text) + ": " + from.full_name("allow") + ": " + error.message +
           "; this line allows nothing, and the others hold");
    });
    from.list("ask", rules.ask, parse);
    from.choice("approver", to.approver);
    only_a_leader(to.approver != Answerer::person, from.full_name("approver"));
    from.list("deny", rules.deny, parse);
    from.choice("default", to.default_action, {{"ask", Action::ask}, {"deny", Action::deny}, {"allow", Action::allow}});
    from.duration("timeout", to.timeout, shortest_wait, longest_wait);
    from.finish();
  }

  void read_permissions() {
    Section permissions = section("permissions");
    PermissionSettings& to = out.config.permissions;
    read_policy(permissions, to.rules, to, allow_rule, parse_permission_rule);
    for (const auto& [key, action, list] : {std::tuple{"allow", Action::allow, &to.rules.allow},
                                            std::tuple{"ask", Action::ask, &to.rules.ask},
                                            std::tuple{"deny", Action::deny, &to.rules.deny}}) {
      for (const PermissionRule& rule : *list) {
        const std::string place = permissions.place_of(key, rule.text) + ": " + permissions.full_name(key) +
                                  " holds " + toml_text(rule.text) + ": ";
        for (const std::string& advice : advice_on(rule, action, to.rules)) warnings.push_back(place + advice);
        if (action == Action::allow) continue;
        for (const std::string& hole : holes_in(rule)) slip(place + hole);
        if (const auto reach = reach_of(rule, action, to.rules)) warnings.push_back(place + *reach);
      }
    }
    if (to.default_action == Action::allow) {
      dangerous(permissions, "default", default_allow,
                "every call that no rule matches is allowed without asking");
    }
  }

  void read_sandbox() {
    Section sandbox = section("sandbox");
    SandboxSettings& to = out.config.sandbox;
    read_policy(sandbox, to.hosts, to, parse_host_pattern, parse_host_pattern);
    if (to.default_action == Action::allow) {
      dangerous(sandbox, "default", any_host, "every domain that no pattern matches may be reached without asking");
    }
    const bool any = std::ranges::any_of(to.hosts.allow, [](const auto& item) { return item.any; });
    if (any) dangerous(sandbox, "allow", any_host, "\"*\" lets workers reach every host that is not denied");
  }

  void read_plans() {
    Section plans = section("plans");
    PlanSettings& to = out.config.plans;
    plans.choice("decision", to.decision, {{"ask", Action::ask}, {"approve", Action::allow}});
    plans.choice("ceiling", to.ceiling);
    if (to.ceiling == PermissionMode::bypass) {
      dangerous(plans, "ceiling", bypass_ceiling, "an approved plan may let a worker run everything unasked");
    }
    plans.duration("timeout", to.timeout, shortest_wait, longest_wait);
    plans.count("max_resubmissions", to.max_resubmissions, 1, 1000);
    plans.choice("approver", to.approver);
    only_a_leader(to.approver != Answerer::person, "plans.approver");
    plans.finish();
  }

  void read_modes() {
    Section section_of_modes = section("modes");
    ModeSettings& to = out.config.modes;
    only_a_leader(!section_of_modes.keys().empty(), "[modes]");
    section_of_modes.choice("ceiling", to.ceiling);
    if (to.ceiling > PermissionMode::accept_edits) {
      dangerous(section_of_modes, "ceiling", wide_modes,
                "workers may be put into modes in which they do more than edit files unasked");
    }
    const auto read_mode = [&](Section& from, std::string_view key, std::optional<PermissionMode>& mode) {
      from.choice(key, mode);
      if (!mode || *mode <= to.ceiling) return;
      from.reject(key, "is " + toml_text(to_string(*mode)) + ", wider than modes.ceiling (" +
                           toml_text(to_string(to.ceiling)) + ")");
    };
    read_mode(section_of_modes, "on_join", to.on_join);
    section_of_modes.duration("apply_timeout", to.apply_timeout, shortest_wait, hours(1));
    section_of_modes.finish({"members"});

    Section members = section("modes.members");
    for (const std::string_view name : members.keys()) {
      std::optional<PermissionMode> mode;
      read_mode(members, name, mode);
      if (!schema::is_valid_name(name))
        members.reject(name, "is not a member's name: letters, digits, '_' and '-', at most 64");
      if (mode) to.members.emplace_back(name, *mode);
    }
  }

  void read_shutdown() {
    Section shutdown = section("shutdown");
    ShutdownSettings& to = out.config.shutdown;
    if (out.config.team.role != Role::follower) only_a_leader(!shutdown.keys().empty(), "[shutdown]");
    shutdown.duration("remind_after", to.remind_after, Duration(0), longest_wait);
    shutdown.duration("force_after", to.force_after, shortest_wait, longest_wait);
    shutdown.duration("timeout", to.timeout, shortest_wait, longest_wait);
    if (to.force_after && *to.force_after <= to.remind_after) {
      shutdown.reject("force_after", "is " + to_text(*to.force_after) + ", not longer than shutdown.remind_after (" +
                                         to_text(to.remind_after) + "): no reminder would come before the force");
    }
    if (to.force_after && *to.force_after >= to.timeout) {
      shutdown.reject("force_after", "is " + to_text(*to.force_after) + ", not shorter than shutdown.timeout (" +
                                         to_text(to.timeout) + "): it would never come to it");
    }
    shutdown.duration("grace", to.grace, Duration(100), minutes(10));
    shutdown.flag("close_panes", to.close_panes);
    shutdown.flag("remove_members", to.remove_members);
    shutdown.flag("release_tasks", to.release_tasks);
    read_tmux_call(shutdown, "tmux", to.tmux);
    shutdown.choice("approver", to.approver);
    shutdown.finish();
  }

  /// Reads a program with its arguments; empty: none.
  static void read_program(Section& from, std::string_view key, std::vector<std::string>& argv) {
    from.texts(key, argv);
    if (argv.empty() || argv.front().starts_with('/')) return;
    from.reject(key, "begins with " + toml_text(argv.front()) +
                         "; its first entry must be a program's absolute path, for no shell and no PATH is used");
  }

  static void read_tmux_call(Section& from, std::string_view key, std::vector<std::string>& argv) {
    from.texts(key, argv);
    if (argv.empty() || argv.front().empty())
      from.reject(key, "names no program; write how tmux is called, such as [\"tmux\", \"-L\", \"team\"]");
  }

  void read_delivery() {
    Section delivery = section("delivery");
    DeliverySettings& to = out.config.delivery;
    const bool methods_are_written = delivery.is_written("methods");
    read_methods(delivery, to.methods);
    read_program(delivery, "exec", to.exec.argv);
    delivery.duration("exec_timeout", to.exec.timeout, shortest_wait, hours(1));
    delivery.path("file", to.file, environment.home);
    delivery.duration("busy_timeout", to.busy_timeout, shortest_wait, hours(24));
    delivery.duration("assume_busy_for", to.assume_busy_for, shortest_wait, hours(1));
    delivery.duration("max_delay", to.max_delay, shortest_wait, longest_wait);
    delivery.duration("urgent_max_delay", to.urgent_max_delay, Duration(0), longest_wait);
    delivery.list("urgent", to.urgent, sender_name);
    delivery.duration("expire_after", to.expire_after, minutes(1), hours(24 * 365));
    delivery.count("batch", to.batch, 1, 1000);
    delivery.choice("idle", to.idle);
    delivery.duration("digest_after", to.digest_after, shortest_wait, hours(24));
    delivery.choice("unknown", to.unknown);
    delivery.choice("unsent_reports", to.unsent_reports);
    delivery.list("allowed_senders", to.allowed_senders, sender_name);
    delivery.finish({"tmux"});
    for (const char* key : {"methods", "exec", "file", "assume_busy_for", "max_delay", "urgent_max_delay", "urgent",
                            "expire_after", "digest_after"})
      only_a_leader(delivery.is_written(key), delivery.full_name(key));

    Section tmux = section("delivery.tmux");
    tmux.text("pane", to.tmux.pane);
    if (!to.tmux.pane.empty() && !schema::is_pane_id(to.tmux.pane))
      tmux.reject("pane", "is " + toml_text(to.tmux.pane) + "; write the id that tmux gave it, such as \"%3\"");
    tmux.flag("payload", to.tmux.payload);
    read_tmux_call(tmux, "command", to.tmux.command);
    tmux.duration("settle", to.tmux.settle, Duration(0), seconds(5));
    tmux.finish();
    const bool tmux_is_written = !tmux.keys().empty();
    only_a_leader(tmux_is_written, "[delivery.tmux]");
    if (methods_are_written) compare_with_via(to, tmux_is_written);
  }

  static void read_methods(Section& delivery, std::vector<DeliveryMethod>& via) {
    std::vector<std::string> names;
    for (const DeliveryMethod method : via) names.emplace_back(to_string(method));
    delivery.texts("methods", names);
    std::vector<std::string_view> known;
    known.assign(schema::names<DeliveryMethod>.begin(), schema::names<DeliveryMethod>.end());
    via.clear();
    for (const std::string& name : names) {
      const auto method = schema::parse<DeliveryMethod>(name);
      if (!method) {
        delivery.reject("methods", "names " + toml_text(name) + "; known are " + quoted_list(known));
      } else if (has(via, *method)) {
        delivery.reject("methods", "names " + toml_text(name) + " twice");
      } else {
        via.push_back(*method);
      }
    }
    if (names.empty())
      delivery.reject("methods", "names no way to the lead; leave it out, or name some of " + quoted_list(known));
  }

  /// Warns about a method that is named but unusable, or configured but not named: most likely a mistake.
  void compare_with_via(const DeliverySettings& to, bool tmux_is_written) {
    const auto idle = [&](const std::string& setting, DeliveryMethod method) {
      warn(setting + " has no effect: delivery.methods does not name " + toml_text(to_string(method)));
    };
    const auto missing = [&](DeliveryMethod method, const std::string& what) {
      warn("delivery.methods names " + toml_text(to_string(method)) + ", but " + what);
    };
    for (const auto& [method, setting, is_set] : {std::tuple{DeliveryMethod::exec, "delivery.exec", !to.exec.argv.empty()},
                                                std::tuple{DeliveryMethod::file, "delivery.file", !to.file.empty()}}) {
      if (is_set && !has(to.methods, method)) idle(setting, method);
      if (!is_set && has(to.methods, method)) missing(method, std::string(setting) + " is not set: nothing can go this way");
    }
    if (tmux_is_written && !has(to.methods, DeliveryMethod::tmux)) idle("[delivery.tmux]", DeliveryMethod::tmux);
    if (has(to.methods, DeliveryMethod::tmux) && !has(to.methods, DeliveryMethod::hook) && to.tmux.pane.empty())
      missing(DeliveryMethod::tmux,
              "delivery.tmux.pane is not set: unless hooks of the lead tell its pane, nothing can go this way");
  }

  void read_approver() {
    Section approver = section("approver");
    ApproverSettings& to = out.config.approver;
    only_a_leader(!approver.keys().empty(), "[approver]");
    read_program(approver, "command", to.command);
    approver.duration("command_timeout", to.command_timeout, shortest_wait, hours(1));
    approver.finish();
  }

  void read_tasks() {
    Section tasks = section("tasks");
    TaskQueueSettings& to = out.config.tasks;
    if (!tasks.keys().empty() && out.config.team.facts().asks)
      warn("[tasks] has no effect: only a maildir and a Redis team (team.backend) have a task queue that we keep in order");
    only_a_leader(!tasks.keys().empty(), "[tasks]");
    tasks.count("max_attempts", to.max_attempts, 1, 1000);
    read_program(tasks, "done_command", to.done_command);
    tasks.duration("done_timeout", to.done_timeout, shortest_wait, hours(1));
    tasks.finish();
  }

  void read_lead() {
    Section lead = section("lead");
    lead.flag("permissions", out.config.lead.permissions);
    lead.flag("mcp_tools", out.config.lead.mcp_tools);
    lead.finish();
  }

  void read_compaction() {
    Section compaction = section("compaction");
    CompactionSettings& to = out.config.compaction;
    only_a_leader(!compaction.keys().empty(), "[compaction]");
    compaction.flag("enabled", to.enabled);
    compaction.count("entries", to.entries, 1, 1'000'000);
    compaction.bytes("size", to.size, {1U << 10}, {1U << 30});
    compaction.duration("after", to.after, shortest_wait, hours(24 * 365));
    compaction.finish();
  }

  void read_limits() {
    Section limits = section("limits");
    Limits& to = out.config.limits;
    limits.bytes("inbox_file", to.inbox_file, {64U << 10}, {1U << 30});
    to.message = std::min(to.message, to.inbox_file);
    limits.bytes("message", to.message, {1U << 10}, {2U << 20});
    if (to.message > to.inbox_file) {
      limits.reject("message",
                    "is " + to_text(to.message) + ", more than limits.inbox_file (" + to_text(to.inbox_file) + ")");
    }
    limits.count("pending_per_worker", to.pending_per_worker, 1, 10'000);
    limits.count("queued_chat", to.queued_chat, 1, 1'000'000);
    limits.count("quarantine_after_polls", to.quarantine_after_polls, 1, 1'000);
    limits.duration("retention", to.retention, hours(1), hours(24 * 365));
    limits.finish();
  }
};

}  // namespace

LoadedTeam parse_team(std::string_view text, const std::string& name, const Environment& environment,
                      std::vector<std::string>& problems, std::vector<std::string>& warnings) {
  LoadedTeam loaded;
  loaded.config.source = name;
  Complaints complaints{name, problems};
  const std::size_t before = problems.size();
  const toml::table document = parse_toml(text, complaints);
  if (problems.size() == before) TeamReader{document, environment, complaints, warnings, loaded}.read();
  return loaded;
}

}  // namespace inbox_poller::config
