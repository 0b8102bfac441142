#include "poller/team/lookout.hpp"

#include <algorithm>
#include <optional>

#include "handlers/ask_kind.hpp"
#include "handlers/direction.hpp"
#include "schema/array_entry.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
namespace {

/// A worker's inbox is there a moment before its name is in the roster.
constexpr std::chrono::seconds phantom_grace{5};

bool named_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a well-formed answer says; empty for everything else.
std::optional<bool> verdict_of(const schema::Payload& payload) {
  if (const auto* answer = std::get_if<schema::PermissionResponse>(&payload)) return answer->allowed;
  if (const auto* answer = std::get_if<schema::SandboxPermissionResponse>(&payload)) return answer->allow;
  if (const auto* answer = std::get_if<schema::PlanApprovalResponse>(&payload)) return answer->approved;
  return std::nullopt;
}

}  // namespace

bool Lookout::is_somebody(const std::string& inbox) const {
  return context_.members.contains(context_.owner_of(inbox)) || named_in(context_.config.delivery.senders, inbox);
}

std::vector<Lookout::Changed> Lookout::changed() {
  std::vector<Changed> changed;
  const auto glances = mailbox_.glances();
  if (!glances) return changed;  // the lead's inbox lies in the same folder and tells of it
  const auto exists = [&](const std::string& inbox) {
    const auto found =
        std::lower_bound(glances->begin(), glances->end(), inbox,
                         [](const InboxGlance& one, const std::string& name) { return one.inbox < name; });
    return found != glances->end() && found->inbox == inbox;
  };
  if (!old_) {
    old_.emplace();
    for (const auto& one : *glances) old_->insert(one.inbox);
  }
  aliases_.clear();
  std::erase_if(phantoms_, [&](const auto& phantom) { return is_somebody(phantom.first) || !exists(phantom.first); });
  std::erase_if(seen_, [&](const auto& inbox) {
    if (exists(inbox.first)) return false;
    outbox_.look(inbox.first, false);
    mailbox_.forget(inbox.first);
    return true;
  });
  for (const auto& [inbox, glance] : *glances) {
    if (inbox == context_.lead) continue;
    if (named_in(context_.config.team.aliases, inbox)) {
      aliases_.push_back(inbox);
      seen_.erase(inbox);
      continue;
    }
    if (context_.has_left(context_.owner_of(inbox))) outbox_.abandon(inbox);
    if (!is_somebody(inbox)) phantoms_.try_emplace(inbox, Phantom{0, 0, context_.clock.steady(), false});
    if (glance.glance == Glance::changed) changed.push_back({inbox, glance.size});
  }
  for (const auto& [inbox, size] : changed)
    if (!seen_.contains(inbox)) mailbox_.forget(inbox);  // what somebody else has seen there is new to us
  for (auto& [inbox, phantom] : phantoms_) {
    if (phantom.told || context_.clock.steady() - phantom.since < phantom_grace) continue;
    phantom.told = true;
    context_.telemetry.emit(Event::inbox_phantom,
                            {{"team", context_.name},
                             {"inbox", inbox},
                             {"count", std::to_string(phantom.unread)},
                             {"reason",
                              "nobody in the team has this name, so nobody reads it; if the lead is meant, name it in "
                              "team.aliases"}});
  }
  return changed;
}

void Lookout::take(const std::string& inbox, ReadResult& result) {
  if (result.outcome == ReadOutcome::missing) return outbox_.look(inbox, false);
  if (result.outcome != ReadOutcome::document) return;
  const auto& entries = result.document.entries();
  if (const auto phantom = phantoms_.find(inbox); phantom != phantoms_.end()) {
    phantom->second.entries = result.skipped + entries.size();
    phantom->second.unread = static_cast<std::size_t>(std::count_if(
        entries.begin(), entries.end(), [](const auto& entry) { return entry.read != schema::ReadFlag::read; }));
    return;
  }
  outbox_.look(inbox, true);
  const bool first_look = old_ && old_->contains(inbox);
  std::size_t known = 0;
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    // What stays unseen is judged at the next change.
    if (!mailbox_.show(result, i) || !take_window(inbox, result, result.windows[i], first_look)) return;
    known = mailbox_.remember(inbox, result, i);
  }
  std::vector<Fingerprint> still;
  for (std::size_t i = known; i < entries.size(); ++i) still.push_back(fingerprint(entries[i].key));
  seen_[inbox] = KeySet(std::move(still));
  old_->erase(inbox);
}

bool Lookout::take_window(const std::string& inbox, const ReadResult& result, const Window& window, bool first_look) {
  const auto& seen = seen_[inbox];
  std::vector<Finding> findings;
  for (std::size_t i = window.first; i < window.last; ++i) {
    const auto& entry = result.document.entries()[i];
    if (!entry.known && !seen.contains(entry.key)) judge(inbox, result.document, entry, first_look, findings);
  }
  if (findings.empty()) return true;
  const auto told = context_.commit([&](EventBatch& events) -> Status {
    for (const auto& finding : findings) events.add(finding.event, finding.fields);
    return Done{};
  });
  if (!told) return false;
  for (const auto& finding : findings) {
    if (!finding.closes) continue;
    handlers::Answer answer;
    answer.event = handlers::AskEvent::answered_by_other;
    answer.by = finding.by;
    answer.reason = finding.reason;
    static_cast<void>(asks_.answer(*finding.closes, answer, false));
  }
  return true;
}

void Lookout::judge(const std::string& inbox, const schema::InboxDocument& document, const schema::InboxEntry& entry,
                    bool first_look, std::vector<Finding>& findings) const {
  const auto envelope = schema::decode_entry(document.entry_bytes(entry));
  if (!envelope) return;  // its owner's to deal with
  const auto payload = schema::decode_payload(envelope->text);
  const auto view = context_.view();
  const auto side = handlers::side_of(envelope->from, view);
  const auto direction = handlers::direction_of(payload, side, handlers::Place::worker);
  const bool fresh = !first_look || entry.read != schema::ReadFlag::read;  // old sins are not told at every start
  const auto fields = [&](std::string reason) {
    return Fields{{"team", context_.name},
                  {"inbox", inbox},
                  {"from", std::string(schema::bare_name(envelope->from))},
                  {"type", std::string(schema::type_name(payload))},
                  {"message_key", entry.key.value},
                  {"request_id", schema::claimed_request_id(envelope->text)},
                  {"reason", std::move(reason)}};
  };
  switch (direction.passage) {
    case handlers::Passage::verdict: return judge_verdict(inbox, payload, *envelope, entry, findings);
    case handlers::Passage::order: {
      if (!fresh || !context_.may(handlers::Right::notice_orders)) return;
      const auto ours = context_.ledger.outbox().wrote(entry.key);
      if (!ours || *ours) return;
      findings.push_back(
          {Event::answer_foreign, fields("an order in the lead's name that we did not write"), {}, {}, {}});
      return;
    }
    case handlers::Passage::refuse:
      if (fresh) findings.push_back({Event::answer_forged, fields(std::string(direction.reason)), {}, {}, {}});
      return;
    case handlers::Passage::private_talk:
    case handlers::Passage::ask:
    case handlers::Passage::answer:
    case handlers::Passage::status:
    case handlers::Passage::chat:
    case handlers::Passage::unknown: return;
  }
}

void Lookout::judge_verdict(const std::string& inbox, const schema::Payload& payload, const schema::Message& envelope,
                            const schema::InboxEntry& entry, std::vector<Finding>& findings) const {
  const auto* kind = handlers::kind_answered_by(schema::type_name(payload));
  if (kind == nullptr) return;
  const auto id = schema::claimed_request_id(envelope.text);
  const auto* open = asks_.find(kind->kind, id);
  if (open == nullptr || schema::inbox_name(open->asker) != inbox) return;  // decided already, or never asked: nobody waits for it
  const auto ours = context_.ledger.outbox().wrote(entry.key);
  if (!ours || *ours) return;
  Finding finding;
  finding.fields = {{"team", context_.name},
                    {"inbox", inbox},
                    {"from", std::string(schema::bare_name(envelope.from))},
                    {"type", std::string(schema::type_name(payload))},
                    {"request_id", id}};
  if (const auto allowed = verdict_of(payload)) {
    finding.by = context_.lead;
    finding.reason = std::string(*allowed ? "approved" : "denied") + " in the lead's name by somebody else";
    finding.fields.emplace_back("new", *allowed ? "approved" : "denied");
    finding.closes = *open;
  } else {
    finding.event = Event::answer_malformed;
    finding.fields.emplace_back("reason",
                                "workers do not understand an answer of this shape; the ask stays open, answer it with "
                                "inbox-poller approve or deny");
  }
  findings.push_back(std::move(finding));
}

std::map<std::string, Phantom> Lookout::phantoms() const {
  auto told = phantoms_;
  std::erase_if(told, [](const auto& phantom) { return !phantom.second.told; });
  return told;
}

}  // namespace inbox_poller::poller
