// The roster beyond its reading: what was last seen in it is kept, because clients may leave its file empty.
#include "poller/team/team.hpp"

namespace inbox_poller::poller {
namespace {

constexpr std::chrono::seconds keep_every{1};  // every turn's end of every worker changes the file

}  // namespace

void Team::keep_roster(const RosterCopy& copy) {
  const auto hash = std::hash<std::string_view>{}(copy.bytes) ^ copy.file;
  if (kept_roster_ == hash) return;
  const auto now = services_.clock.steady();
  roster_adopted_ = false;  // until it is kept it is read at every poll, and this comes again
  if (kept_roster_ && !copy.bytes.empty() && now - roster_kept_ < keep_every) return;
  static_cast<void>(context_.commit([&](Tx& tx) {  // or with the next look
    tx.keep(tx.ledger.rosters().put(context_.name, {copy.bytes, copy.file, services_.clock.wall_ms()}));
    tx.then([&] {
      kept_roster_ = hash;
      roster_kept_ = now;
    });
  }));
}

void Team::do_without_roster() {
  if (!members_.roster_is_lost()) return;
  if (!has_roster_) {
    auto roster = schema::decode_roster(members_.roster_copy().bytes);
    if (!roster || !context_.adopt(std::move(*roster))) return;
    has_roster_ = true;
    heed_lead_process();  // also the kept claim: a lead that lives reads its mail itself
  }
  roster_report_.detail += "; the team is served by what was last seen";
  if (retired_ || !context_.may(handlers::Right::mend_roster)) return;
  const auto mended = members_.mend_roster(shutdowns_.leaving());
  if (mended.put == Put::done)
    services_.telemetry.emit(Event::roster_mended, {{"team", context_.name},
                                                    {"path", context_.config.team.team_folder(context_.name)},
                                                    {"reason", roster_report_.detail}});
  else if (!mended.detail.empty())
    roster_report_.detail += "; it is not put back yet: " + mended.detail;
}

}  // namespace inbox_poller::poller
