#include "poller/team/roster_keeper.hpp"

#include <utility>

namespace inbox_poller::poller {
namespace {

constexpr std::chrono::seconds keep_every{1};  // every end of a worker's turn changes the file

}  // namespace

Status RosterKeeper::restore() {
  TRY(auto kept, context_.ledger.rosters().find(context_.name));
  if (kept) members_.remember_roster({std::move(kept->bytes), kept->file});
  return Done{};
}

RosterKeeper::Seen RosterKeeper::look() {
  if (is_adopted_ && !members_.roster_changed())  // and the copy is stored
    return std::exchange(has_changed_, false) ? Seen::changed : Seen::as_before;
  auto roster = members_.roster();
  is_adopted_ = false;
  if (roster) {
    report_ = {"ok", {}};
    problem_.clear();
    has_roster_ = true;
    is_lost_ = false;
    is_adopted_ = context_.adopt(std::move(*roster)).ok();  // a failing ledger is reported there
    keep(members_.roster_copy());
    context_.changed(only(Area::workers) | only(Area::teams));
    return Seen::changed;
  }
  const auto& [code, problem] = roster.error();
  if (code == "roster.missing") {
    keep({});
    return Seen::no_team;
  }
  if (std::exchange(problem_, problem) != problem)
    context_.telemetry.emit(Event::roster_unreadable, {{"team", context_.name}, {"reason", problem}});
  if (report_.detail != problem) context_.changed(only(Area::teams));
  is_lost_ = code == "roster.lost";
  report_ = {is_lost_ || code == "roster.empty" ? "empty" : "unreadable", problem};
  return do_without();
}

void RosterKeeper::keep(const RosterCopy& copy) {
  const auto hash = std::hash<std::string_view>{}(copy.bytes) ^ copy.file;
  if (kept_ == hash) return;
  const auto now = context_.clock.steady();
  is_adopted_ = false;  // read again at every poll until it is stored
  if (kept_ && !copy.bytes.empty() && now - kept_since_ < keep_every) return;
  static_cast<void>(context_.commit([&](Tx& tx) {  // on failure the next scan retries
    tx.keep(tx.ledger.rosters().put(context_.name, {copy.bytes, copy.file, context_.clock.wall_ms()}));
    tx.then([&] {
      kept_ = hash;
      kept_since_ = now;
    });
  }));
}

RosterKeeper::Seen RosterKeeper::do_without() {
  if (is_lost_) {
    if (!has_roster_) {
      auto roster = schema::decode_roster(members_.roster_copy().bytes);
      has_roster_ = roster && context_.adopt(std::move(*roster));
    }
    if (has_roster_) report_.detail += "; the team is served by what was last seen";
  }
  return has_roster_ ? Seen::changed : Seen::unreadable;
}

void RosterKeeper::mend(const std::vector<std::string>& leaving) {
  if (!has_roster_ || !is_lost_) return;
  const auto mended = members_.mend_roster(leaving);
  if (mended.put == WriteStatus::done)
    context_.telemetry.emit(Event::roster_restored, {{"team", context_.name},
                                                   {"path", context_.config.team.team_folder(context_.name)},
                                                   {"reason", report_.detail}});
  else if (!mended.detail.empty())
    report_.detail += "; it is not put back yet: " + mended.detail;
}

}  // namespace inbox_poller::poller
