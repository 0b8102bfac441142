// `hosts`: a team on several machines.
#include "poller/cli/hosts_text.hpp"

#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

/// "@h2" is the stream of host h2, "lead" that of whoever leads.
std::string place_of(const std::string& stream) {
  return stream.starts_with('@') ? "host " + stream.substr(1) : stream == "lead" ? "the host that leads" : "host " + stream;
}

std::string waits(const json::object& mail) {
  std::string text = std::to_string(number_of(mail, "waiting")) + " waiting";
  if (const auto put = number_of(mail, "put"); put != 0) text += ", " + std::to_string(put) + " on the way";
  if (const auto there = number_of(mail, "there"); there != 0) text += ", " + std::to_string(there) + " there and not read";
  if (const auto oldest = number_of(mail, "oldest_ms"); oldest != 0) text += " (the oldest for " + span_text(now_ms() - oldest) + ')';
  return text;
}

}  // namespace

bool is_led(const json::object& hosts) {
  const auto leader = raw_text_of(hosts, "leader");
  return !leader.empty() && (leader != raw_text_of(hosts, "host") || flag_of(hosts, "leads"));
}

std::string leader_text(const json::object& hosts) {
  const auto leader = text_of(hosts, "leader");
  if (!is_led(hosts)) return leader.empty() ? "no host leads now: asks wait" : "this host led, and does not now: asks wait";
  const auto epoch = ", epoch " + std::to_string(number_of(hosts, "epoch"));
  return leader == text_of(hosts, "host") ? "this host, " + leader + epoch : "host " + leader + epoch;
}

std::string mail_text(const json::object& mail) {
  return (raw_text_of(mail, "way") == "out" ? "for " : "from ") + place_of(text_of(mail, "stream")) + ": " + waits(mail);
}

std::string letter_sentence(const json::object& letter) {
  const auto state = raw_text_of(letter, "state");
  const auto since = ", for " + span_text(now_ms() - number_of(letter, "state_ms"));
  const auto inbox = text_of(letter, "inbox");
  if (state == "refused") return "was not taken: " + text_of(letter, "problem");
  if (raw_text_of(letter, "way") == "in") {
    const auto from = "came from " + place_of(text_of(letter, "host"));
    if (number_of(letter, "attempts") != 0) return from + ", which sends it to the host that leads now";
    if (state == "waiting") return from + " and is to be put into the inbox of " + inbox + since;
    return from + (state == "there" ? " and is here, not settled yet" + since : " and was read");
  }
  const auto place = place_of(text_of(letter, "host"));
  if (state == "waiting") return "is here, and waits to go to " + place + since;
  if (state == "put") return "is with the engine, on its way to " + place + since;
  return state == "there" ? "is on " + place + ", for " + inbox + ", not read yet" + since : "was read on " + place;
}

std::string letter_state(const json::object& letter) {
  const auto state = raw_text_of(letter, "state");
  const auto since = ' ' + span_text(now_ms() - number_of(letter, "state_ms"));
  const bool is_here = raw_text_of(letter, "way") == "in" || state == "waiting";
  const auto stream = text_of(letter, "host");
  const auto host = is_here ? "here" : stream.starts_with('@') ? stream.substr(1) : "the leader";
  if (state == "waiting") return "waits here" + since;
  if (state == "put") return "sent to " + host + since;
  if (state == "refused") return "refused" + since;
  return (state == "there" ? is_here ? "is " : "is on " : is_here ? "read " : "read on ") + host + since;
}

std::string round_trip_text(const json::object& hosts) {
  const auto us = number_of(hosts, "round_trip_us");
  if (us == 0) return {};
  const auto ms = us < 10'000 ? std::to_string(us / 1000) + '.' + std::to_string(us / 100 % 10) : std::to_string(us / 1000);
  return ms + " ms for a round trip";
}

std::vector<Row> host_rows(const Console& console, const json::object& hosts) {
  std::vector<Row> rows{{"leader", leader_text(hosts)}};
  if (const auto trouble = text_of(hosts, "trouble"); !trouble.empty())
    rows.push_back({"engine", console.loud(trouble) + ", for " + span_text(now_ms() - number_of(hosts, "trouble_since_ms"))});
  if (number_of(hosts, "round_trip_us") >= slow_us) rows.push_back({"engine", console.loud("slow: " + round_trip_text(hosts))});
  if (const auto full = text_of(hosts, "full"); !full.empty()) rows.push_back({"mail", console.loud(full)});
  for (const std::string& worry : texts_of(hosts, "worries")) rows.push_back({"engine", console.loud(worry)});
  for (const json::object* mail : objects_of(hosts, "mail"))
    if (number_of(*mail, "waiting") + number_of(*mail, "put") != 0)
      rows.push_back({"mail", mail_text(*mail)});
  return rows;
}

std::string hosts_text(const Console& console, const json::object& team) {
  const json::object& hosts = object_of(team, "hosts");
  std::string text = console.bold("team " + text_of(team, "team")) + ", on host " + text_of(hosts, "host") + '\n';
  const std::string trip = round_trip_text(hosts);
  std::vector<Row> rows{{"engine", text_of(hosts, "engine") + (trip.empty() ? "" : ", " + trip)}};
  for (Row& row : host_rows(console, hosts)) rows.push_back(std::move(row));
  text += console.table(rows, "  ");
  std::vector<Row> list{{"HOST", "LEADS", "HEARD", "TO BE SENT", "VERSION", "MEMBERS"}};
  for (const json::object* host : objects_of(hosts, "hosts")) {
    const auto queued = number_of(*host, "queued");
    list.push_back({text_of(*host, "host"), text_of(*host, "host") == text_of(hosts, "leader") ? "yes" : "-",
                    ago(number_of(*host, "heard_ms")), std::to_string(queued), text_of(*host, "version"), or_dash(names_of(*host, "members"))});
  }
  return text + (list.size() > 1 ? "\n" + console.table(list, "  ") : "");
}

void declare_hosts(CLI::App& command, Context& context) {
  explain(command,
          "The hosts of each team that has [hosts]: which one leads, when each was last heard of, who lives there,\n"
          "and where mail waits and for how long. Where one message is now: inbox-poller trace ID.\n\n"
          "Examples:\n"
          "  inbox-poller hosts\n"
          "  inbox-poller hosts --json | jq -r '.teams[].hosts.leader'");
  command.callback([&command, &context] {
    if (!command.get_subcommands().empty()) return;
    context.exit_code = context.show("status", {}, [&](const json::object& answer) {
      std::string text;
      for (const json::object* team : objects_of(answer, "teams"))
        if (!object_of(*team, "hosts").empty()) text += (text.empty() ? "" : "\n") + hosts_text(context.console, *team);
      return text.empty() ? std::string("no team here has [hosts]: each is on one host\n") : text;
    });
  });
}

}  // namespace inbox_poller::poller::cli
