#include <algorithm>

#include "config/load.hpp"
#include "config/load_section.hpp"
#include "config/units.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration shortest_wait = seconds(1);
constexpr Duration longest_wait = hours(24 * 7);

constexpr Bytes kib(std::uint64_t n) { return {n << 10}; }
constexpr Bytes mib(std::uint64_t n) { return {n << 20}; }

const Section::Choices<Action> actions = {{"ask", Action::ask}, {"deny", Action::deny}, {"allow", Action::allow}};

// What an operator must have said in so many words before it takes effect.
constexpr std::string_view default_allow = "default-allow";
constexpr std::string_view any_host = "any-host";
constexpr std::string_view bypass_ceiling = "bypass-ceiling";

/// Letters, digits, '.', '_', '-', as in the names of team folders and inboxes; stars where a glob may stand.
bool is_plain_name(std::string_view name, bool glob) {
  const auto plain = [glob](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || (glob && c == '*');
  };
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), plain);
}

std::string default_root(const Environment& environment) {
  if (!environment.claude_config_dir.empty()) return environment.claude_config_dir + "/teams";
  return environment.home.empty() ? "" : environment.home + "/.claude/teams";
}

/// Reads one file's sections in the order of docs/configuration.md.
class TeamReader {
 public:
  TeamReader(const toml::table& document, const Environment& environment, Complaints& complaints,
             std::vector<std::string>& warnings, LoadedTeam& out)
      : document_(document), environment_(environment), complaints_(complaints), warnings_(warnings), out_(out) {}

  void read() {
    read_team();
    read_permissions();
    read_sandbox();
    read_plans();
    read_delivery();
    read_limits();
    for (const auto& [key, node] : document_) {
      static const std::vector<std::string_view> sections = {"team",  "permissions", "sandbox",
                                                             "plans", "delivery",    "limits"};
      if (std::find(sections.begin(), sections.end(), key.str()) != sections.end()) continue;
      const auto place = key.source().begin ? key.source().begin : node.source().begin;
      const bool daemon = key == "log" || key == "state_dir" || key == "socket";
      complaints_.at(place, std::string(key.str()) + (daemon ? " belongs in the daemon's own file, daemon.toml"
                                                             : " is not a section" + suggestion(key.str(), sections)));
    }
  }

 private:
  Section section(std::string name) { return {document_, std::move(name), complaints_, out_.settings}; }

  void warn(std::string_view text) { warnings_.push_back(complaints_.file() + ": " + std::string(text)); }

  /// A dangerous value stands only when acknowledged, and is never quiet.
  void dangerous(Section& from, std::string_view key, std::string_view acknowledgement, std::string_view consequence) {
    const bool known = std::find(understood_.begin(), understood_.end(), acknowledgement) != understood_.end();
    if (known) return warn(std::string(consequence) + " (team.i_understand says that this is meant)");
    from.reject(key, "is dangerous: " + std::string(consequence) + "; if that is meant, write \"" +
                         std::string(acknowledgement) + "\" into the list team.i_understand");
  }

  void read_team() {
    Section team = section("team");
    TeamSettings& to = out_.config.team;
    to.name = team.text("name", "");
    if (!is_plain_name(to.name, true)) {
      team.reject("name", to.name.empty()
                              ? "is missing; write the team's name, or a glob such as \"session-*\""
                              : "is not a team's name: only letters, digits, '.', '_', '-' and '*', at most 64");
    }
    to.root = team.path("root", default_root(environment_), environment_.home);
    if (to.root.empty())
      team.reject("root", "has no default, because neither CLAUDE_CONFIG_DIR nor HOME is set; write it");
    to.lead = team.text("lead", "");
    if (!to.lead.empty() && !is_plain_name(to.lead, false)) {
      team.reject("lead", "is not a member's name: only letters, digits, '.', '_' and '-', at most 64");
    }
    to.role = team.choice<Role>("role", Role::leader, {{"leader", Role::leader}});
    to.transport = team.choice<Transport>("transport", Transport::claude, {{"claude", Transport::claude}});
    to.poll_interval = team.duration("poll_interval", to.poll_interval, Duration(50), minutes(1));
    understood_ = team.list<std::string>("i_understand", [](const std::string& item) -> Result<std::string> {
      if (item == default_allow || item == any_host || item == bypass_ceiling) return item;
      return Error{"config.acknowledgement", toml_text(item) + " acknowledges nothing" +
                                                 suggestion(item, {default_allow, any_host, bypass_ceiling})};
    });
    team.finish();
  }

  void read_permissions() {
    Section permissions = section("permissions");
    PermissionSettings& to = out_.config.permissions;
    to.rules.allow =
        permissions.list<PermissionRule>("allow", [this](const std::string& item) { return allow_rule(item); });
    to.rules.ask = permissions.list<PermissionRule>("ask", parse_permission_rule_text);
    to.rules.deny = permissions.list<PermissionRule>("deny", parse_permission_rule_text);
    to.default_action = permissions.choice("default", to.default_action, actions);
    if (to.default_action == Action::allow) {
      dangerous(permissions, "default", default_allow,
                "every call that no rule speaks about is allowed, and nobody is asked");
    }
    to.timeout = permissions.duration("timeout", to.timeout, shortest_wait, longest_wait);
    permissions.finish();
  }

  static Result<PermissionRule> parse_permission_rule_text(const std::string& item) {
    return parse_permission_rule(item);
  }

  Result<PermissionRule> allow_rule(const std::string& item) {
    auto rule = parse_permission_rule(item);
    if (!rule) return rule;
    if (const auto why = why_never_allows(*rule))
      return Error{"config.rule", toml_text(item) + " would allow nothing: " + *why};
    if (rule->tool == "Bash" && !rule->specifier) {
      warn("permissions.allow holds " + toml_text(item) +
           ": any command that can be read is allowed, whatever it does");
    }
    return rule;
  }

  void read_sandbox() {
    Section sandbox = section("sandbox");
    SandboxSettings& to = out_.config.sandbox;
    const auto pattern = [](const std::string& item) { return parse_host_pattern(item); };
    to.hosts.allow = sandbox.list<HostPattern>("allow", pattern);
    to.hosts.ask = sandbox.list<HostPattern>("ask", pattern);
    to.hosts.deny = sandbox.list<HostPattern>("deny", pattern);
    to.default_action = sandbox.choice("default", to.default_action, actions);
    if (to.default_action == Action::allow) {
      dangerous(sandbox, "default", any_host, "every host that no pattern names may be reached, and nobody is asked");
    }
    const bool any =
        std::any_of(to.hosts.allow.begin(), to.hosts.allow.end(), [](const auto& item) { return item.any; });
    if (any) dangerous(sandbox, "allow", any_host, "\"*\" lets workers reach every host that is not denied");
    to.timeout = sandbox.duration("timeout", to.timeout, shortest_wait, longest_wait);
    sandbox.finish();
  }

  void read_plans() {
    Section plans = section("plans");
    PlanSettings& to = out_.config.plans;
    to.decision = plans.choice<Action>("decision", to.decision, {{"ask", Action::ask}, {"approve", Action::allow}});
    Section::Choices<PermissionMode> modes;
    for (const auto mode : {PermissionMode::plan, PermissionMode::standard, PermissionMode::accept_edits,
                            PermissionMode::automatic, PermissionMode::dont_ask, PermissionMode::bypass}) {
      modes.emplace_back(to_string(mode), mode);
    }
    to.ceiling = plans.choice("ceiling", to.ceiling, modes);
    if (to.ceiling == PermissionMode::bypass) {
      dangerous(plans, "ceiling", bypass_ceiling, "an approved plan may let a worker run everything unasked");
    }
    to.timeout = plans.duration("timeout", to.timeout, shortest_wait, longest_wait);
    to.loop_limit = plans.count("loop_limit", to.loop_limit, 1, 1000);
    plans.finish();
  }

  void read_delivery() {
    Section delivery = section("delivery");
    DeliverySettings& to = out_.config.delivery;
    to.exec.argv =
        delivery.list<std::string>("exec", [](const std::string& item) { return Result<std::string>(item); });
    if (!to.exec.argv.empty() && !to.exec.argv.front().starts_with('/')) {
      delivery.reject("exec",
                      "begins with " + toml_text(to.exec.argv.front()) +
                          "; its first entry must be a program's absolute path, for no shell and no PATH is used");
    }
    to.exec.timeout = delivery.duration("exec_timeout", to.exec.timeout, shortest_wait, hours(1));
    to.file = delivery.path("file", "", environment_.home);
    to.busy_limit = delivery.duration("busy_limit", to.busy_limit, shortest_wait, hours(24));
    to.batch = delivery.count("batch", to.batch, 1, 1000);
    to.idle = delivery.choice<IdlePolicy>("idle", to.idle, {{"state", IdlePolicy::state}, {"all", IdlePolicy::all}});
    to.unknown = delivery.choice<UnknownPolicy>("unknown", to.unknown,
                                                {{"deliver", UnknownPolicy::deliver}, {"hold", UnknownPolicy::hold}});
    to.senders = delivery.list<std::string>("senders", [](const std::string& item) -> Result<std::string> {
      if (schema::is_valid_name(item)) return item;
      return Error{"config.name",
                   toml_text(item) + " is not a sender's name: letters, digits, '_' and '-', at most 64"};
    });
    delivery.finish();
  }

  void read_limits() {
    Section limits = section("limits");
    Limits& to = out_.config.limits;
    to.inbox_file = limits.bytes("inbox_file", to.inbox_file, kib(64), mib(1024));
    to.message = limits.bytes("message", std::min(to.message, to.inbox_file), kib(1), mib(16));
    if (to.message.count > to.inbox_file.count) {
      limits.reject("message",
                    "is " + to_text(to.message) + ", more than limits.inbox_file (" + to_text(to.inbox_file) + ")");
    }
    to.pending_per_worker = limits.count("pending_per_worker", to.pending_per_worker, 1, 10'000);
    to.queued_chat = limits.count("queued_chat", to.queued_chat, 1, 1'000'000);
    to.torn_polls = limits.count("torn_polls", to.torn_polls, 1, 1'000);
    to.retention = limits.duration("retention", to.retention, hours(1), hours(24 * 365));
    limits.finish();
  }

  const toml::table& document_;
  const Environment& environment_;
  Complaints& complaints_;
  std::vector<std::string>& warnings_;
  LoadedTeam& out_;
  std::vector<std::string> understood_;
};

}  // namespace

LoadedTeam parse_team(std::string_view text, const std::string& name, const Environment& environment,
                      std::vector<std::string>& problems, std::vector<std::string>& warnings) {
  LoadedTeam loaded;
  loaded.config.source = name;
  Complaints complaints(name, problems);
  const std::size_t before = problems.size();
  const toml::table document = parse_toml(text, complaints);
  if (problems.size() == before) TeamReader(document, environment, complaints, warnings, loaded).read();
  return loaded;
}

}  // namespace inbox_poller::config
