// Whether we consume the lead's inbox alone, and what we are in the team when we do not.
#include <algorithm>

#include "handlers/other_consumer.hpp"
#include "poller/lead_process.hpp"
#include "poller/team/team.hpp"

namespace inbox_poller::poller {
namespace {

constexpr std::chrono::seconds overtaken_within{10};  // a lead polls every second, and a lock is stale after ten

}  // namespace

bool Team::is_alone() const {
  if (retired_ || !context_.may(handlers::Right::compact)) return false;
  const auto now = services_.clock.steady();
  return std::none_of(foreign_signs_.begin(), foreign_signs_.end(),
                      [now](SteadyTime sign) { return now - sign <= handlers::sign_lasts; });
}

void Team::witness(const ReadResult& result) {
  const auto sighting = witness_.look(result.document, services_.clock.wall_ms(), {result.knew, result.skipped});
  if (!context_.may(handlers::Right::watch_lead)) {
    // What the ledger has was in the inbox before: a peer put an older copy of the file back.
    const auto flipped = std::count_if(sighting.flipped.begin(), sighting.flipped.end(), [&](const auto& key) {
      const auto known = services_.ledger.messages().known(key);
      return known && !*known;
    });
    if (flipped > 0) foreign_consumer("flipped", static_cast<std::size_t>(flipped));
    if (sighting.swept) foreign_consumer("removed", 1);
    return;
  }
  auto consumed = overtaken(result.document, sighting);
  consumed.insert(consumed.end(), sighting.consumed.begin(), sighting.consumed.end());
  if (consumed.empty()) return;
  static_cast<void>(context_.commit([&](EventBatch& events) -> Status {
    for (const auto& one : consumed) {
      const bool answered = intake_.answered(one.key);
      Fields fields{{"team", context_.name},
                    {"inbox", context_.lead},
                    {"message_key", one.key.value},
                    {"latency_ms", std::to_string(std::max<EpochMs>(0, one.waited_ms))}};
      if (answered)
        fields.emplace_back("reason",
                            "we had answered it, but the lead took it before our mark; the first answer at "
                            "the worker counts");
      events.add(answered ? Event::request_lost_race : Event::message_consumed, std::move(fields));
    }
    return Done{};
  }));
}

std::vector<Witness::Consumed> Team::overtaken(const schema::InboxDocument& document,
                                               const Witness::Sighting& sighting) {
  // Old clients read, then lock, mark and write all of it anew. When that leaves our own mark behind and changes
  // nothing else, the lead had something to mark, which it had read as unread: what we marked.
  const auto now = services_.clock.steady();
  std::erase_if(marked_, [now](const auto& one) { return now - one.second > overtaken_within; });
  const auto& entries = document.entries();
  const bool may_have_other_reasons = !sighting.consumed.empty() || !sighting.flipped.empty() ||
                                      std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
                                        return entry.read != schema::ReadFlag::read;
                                      });
  std::vector<Witness::Consumed> found;
  for (const auto& entry : entries) {
    const auto marked = marked_.find(entry.key.value);
    if (marked == marked_.end() || document.is_marked_in_place(entry)) continue;
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - marked->second);
    if (!may_have_other_reasons) found.push_back({entry.key, since.count()});
    marked_.erase(marked);
  }
  return found;
}

void Team::foreign_consumer(std::string code, std::size_t count) {
  const auto now = services_.clock.steady();
  foreign_signs_.push_back(now);
  std::vector<config::Duration> ages;
  for (const auto sign : foreign_signs_) ages.push_back(std::chrono::duration_cast<config::Duration>(now - sign));
  services_.telemetry.emit(
      Event::inbox_foreign_consumer,
      {{"team", context_.name},
       {"inbox", context_.lead},
       {"code", code},
       {"count", std::to_string(count)},
       {"reason", code == "flipped"
                      ? "messages were marked read before we saw them; nobody writes them like that"
                      : "all entries that were read have gone at once, as a client that deletes leaves it"}});
  std::erase_if(foreign_signs_, [now](SteadyTime sign) { return now - sign > handlers::sign_lasts; });
  if (!handlers::are_believed(ages)) return;
  give_way("somebody else consumes " + inbox_path() + "; end that, or use role = \"front\", then inbox-poller resume");
}

void Team::heed_lead_process() {
  const auto& claim = context_.roster.lead_process;
  if (!claim || !context_.may(handlers::Right::expect_nobody)) return;
  const auto id = claim_of(*claim);
  if (id == lead_claim_) return;
  const auto state = handlers::state_of(look_at(*claim, services_.processes));
  if (state == handlers::LeadProcessState::gone) return;
  lead_claim_ = id;
  const std::string who =
      "process " + std::to_string(claim->pid) + " says in the roster that it leads this team (leadProcess)";
  if (state == handlers::LeadProcessState::elsewhere) {
    services_.telemetry.emit(Event::daemon_warning,
                             {{"team", context_.name},
                              {"reason", who + " and is not to be seen from here, in " + claim->pid_space +
                                             ": if it lives, it reads the lead's inbox itself, and messages reach only "
                                             "one of the two"}});
    return;
  }
  const auto said = services_.ledger.history().of_request(context_.name, id);
  if (said && std::any_of(said->begin(), said->end(),
                          [](const HistoryRow& row) { return row.event == event_name(Event::lead_accepted); }))
    return;
  const std::string reason = who + " and was alive at " + schema::iso_timestamp(context_.clock.wall_ms()) +
                             ", so it reads " + inbox_path() + " itself";
  services_.telemetry.emit(Event::inbox_foreign_consumer, {{"team", context_.name},
                                                           {"inbox", context_.lead},
                                                           {"code", "lead_process"},
                                                           {"count", "1"},
                                                           {"reason", reason}});
  give_way(reason + "; to lead in its place, end it, then inbox-poller resume; resume beside it takes its mail away");
}

void Team::give_way(const std::string& reason) {
  if (const auto stance = handlers::stance_beside(context_.config.team.foreign_consumer)) stand({*stance, reason});
}

void Team::stand(handlers::Standing standing) {
  const auto old = context_.standing.stance;
  context_.standing = std::move(standing);
  const auto now = context_.standing.stance;
  const auto speaks = handlers::Right::tell_lead;  // also while stopped: what was taken in stays ours
  if (now != old && !(rights_of(old, speaks) && rights_of(now, speaks))) {
    delivery_.serve_anew();
    intake_.forget();
    for (auto& [inbox, intake] : alias_intakes_) intake.forget();
  }
  foreign_signs_.clear();
  must_read_ = true;
  if (now == old) return;
  services_.telemetry.emit(Event::inbox_role, {{"team", context_.name},
                                               {"inbox", context_.lead},
                                               {"old", std::string(to_string(old))},
                                               {"new", std::string(to_string(now))},
                                               {"reason", context_.standing.reason}});
}

Status Team::resume() {
  const auto configured = handlers::stance_of(context_.config.team.role);
  const bool gave_way = configured == handlers::Stance::leader && context_.standing.stance != configured;
  if (const auto& claim = context_.roster.lead_process; claim && gave_way) {
    const auto id = claim_of(*claim);
    const auto noted = context_.commit([&](EventBatch& events) -> Status {
      events.add(Event::lead_accepted, {{"team", context_.name},
                                        {"request_id", id},
                                        {"reason", "a person said resume: we lead, also while this process lives"}});
      return Done{};
    });
    if (!noted) return noted;
    lead_claim_ = id;
  }
  stand({configured, {}});
  poke();
  return Done{};
}

}  // namespace inbox_poller::poller
