#include "poller/team/worker_boxes.hpp"

#include <algorithm>
#include <optional>

#include "handlers/direction.hpp"
#include "handlers/request_kind.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {
handlers::BoxOf WorkerBoxes::whose(const std::string& box, const std::string& owner) const {
  return handlers::whose_box(box, context_.lead, context_.config, context_.members.contains(owner));
}

std::vector<std::string> WorkerBoxes::changed(std::span<const ReadyBox> boxes) {
  std::vector<std::string> changed;
  const auto exists = [&](const std::string& box) {
    const auto found = std::lower_bound(boxes.begin(), boxes.end(), box,
                                        [](const ReadyBox& one, const std::string& name) { return one.box < name; });
    return found != boxes.end() && found->box == box;
  };
  if (!old_) {
    old_.emplace();
    for (const auto& one : boxes) old_->insert(one.box);
  }
  aliases_.clear();
  std::erase_if(orphaned_, [&](const auto& orphan) {
    return whose(orphan.first, context_.owner_of(orphan.first)) != handlers::BoxOf::nobody || !exists(orphan.first);
  });
  std::erase_if(seen_, [&](const auto& box) {
    if (exists(box)) return false;
    outbox_.look(box, false);
    return true;
  });
  for (const auto& [box, has_changed] : boxes) {
    if (box == context_.lead) continue;
    const auto owner = context_.owner_of(box);
    const auto is_of = whose(box, owner);
    if (is_of == handlers::BoxOf::alias) {
      aliases_.push_back(box);
      seen_.erase(box);
      continue;
    }
    if (context_.has_left(owner)) outbox_.abandon(box);
    if (is_of == handlers::BoxOf::nobody) orphaned_.try_emplace(box, OrphanedInbox{0, 0, context_.clock.steady(), false});
    if (has_changed) changed.push_back(box);
  }
  for (auto& [inbox, orphan] : orphaned_) {
    if (orphan.told || context_.clock.steady() - orphan.since < handlers::nobodys_grace) continue;
    orphan.told = true;
    context_.telemetry.emit(Event::inbox_orphaned,
                            {{"team", context_.name},
                             {"inbox", inbox},
                             {"count", std::to_string(orphan.unread)},
                             {"reason",
                              "no member of the team has this name, so the inbox is never read; if the lead is meant, name it in "
                              "team.aliases"}});
  }
  return changed;
}

bool WorkerBoxes::take(const std::string& box, const Batch& batch) {
  if (batch.state == BoxState::missing) outbox_.look(box, false);
  if (batch.state != BoxState::open) return false;
  if (const auto orphan = orphaned_.find(box); orphan != orphaned_.end()) {
    orphan->second.entries = batch.size.entries;
    orphan->second.unread = batch.size.unread;
    return false;
  }
  outbox_.look(box, true);
  if (!judge_all(box, batch.taken, old_ && old_->contains(box))) return false;
  seen_.insert(box);
  if (!batch.more) old_->erase(box);
  return true;
}

bool WorkerBoxes::judge_all(const std::string& box, const std::vector<BoxMessage>& taken, bool first_look) {
  std::vector<Finding> findings;
  for (const auto& one : taken) judge(box, one, first_look, findings);
  if (findings.empty()) return true;
  const auto told = context_.commit([&](Tx& tx) {
    for (const auto& finding : findings)
      if (!finding.is_expected) tx.log(finding.event, finding.fields);
  });
  if (!told) return false;
  for (const auto& finding : findings) {
    if (!finding.closes) continue;
    static_cast<void>(requests_.answer(*finding.closes, finding.answer, false));
  }
  return true;
}

void WorkerBoxes::judge(const std::string& inbox, const BoxMessage& taken, bool first_look,
                        std::vector<Finding>& findings) const {
  const auto decoded = mailbox_.decode(taken.bytes);
  if (!decoded) return;  // its owner must handle it
  const auto* envelope = &decoded->message;
  const auto payload = schema::decode_payload(envelope->text);
  const auto view = context_.view();
  const auto side = handlers::side_of(envelope->from, view);
  const auto direction = handlers::direction_of(payload, side, handlers::Place::worker);
  const bool fresh = !first_look || !taken.read;  // report only new findings after the first scan, so a restart does
                                                  // not repeat old ones
  const auto fields = [&](std::string reason) {
    return Fields{{"team", context_.name},
                  {"inbox", inbox},
                  {"from", std::string(schema::bare_name(envelope->from))},
                  {"type", std::string(schema::type_name(payload))},
                  {"message_key", taken.key.value},
                  {"request_id", schema::claimed_request_id(envelope->text)},
                  {"reason", std::move(reason)}};
  };
  switch (direction.passage) {
    case handlers::Passage::verdict: return judge_verdict(inbox, payload, *envelope, taken.key, fresh, findings);
    case handlers::Passage::order: {
      if (!fresh || !context_.may(handlers::Right::notice_orders)) return;
      const auto ours = context_.ledger.outbox().wrote(taken.key);
      if (!ours || *ours) return;
      findings.push_back(
          {Event::answer_foreign, fields("an order in the lead's name that we did not write"), {}, {}, {}});
      return;
    }
    case handlers::Passage::refuse:
      if (fresh) findings.push_back({Event::answer_forged, fields(std::string(direction.reason)), {}, {}, {}});
      return;
    case handlers::Passage::private_talk:
    case handlers::Passage::request:
    case handlers::Passage::answer:
    case handlers::Passage::status:
    case handlers::Passage::chat:
    case handlers::Passage::unknown: return;
  }
}

void WorkerBoxes::judge_verdict(const std::string& inbox, const schema::Payload& payload,
                                const schema::Message& envelope, const schema::MessageKey& key, bool fresh,
                                std::vector<Finding>& findings) const {
  const auto* kind = handlers::kind_answered_by(schema::type_name(payload));
  if (kind == nullptr) return;
  const auto ours = context_.ledger.outbox().wrote(key);
  if (!ours || *ours) return;
  const auto id = schema::claimed_request_id(envelope.text);
  const handlers::RequestName name{kind->kind, context_.owner_of(inbox), id};
  const auto* open = requests_.find(name);
  Finding finding;
  finding.fields = {{"team", context_.name},
                    {"inbox", inbox},
                    {"from", std::string(schema::bare_name(envelope.from))},
                    {"type", std::string(schema::type_name(payload))},
                    {"request_id", id}};
  if (const auto allowed = handlers::verdict_of(payload)) {
    const auto carried = context_.ledger.node_mail().answer_to(context_.name, name.asker, id);
    const bool by_node = carried && *carried;
    finding.is_expected = by_node;
    finding.answer = {.event = handlers::RequestEvent::answered_by_other,
                      .by = by_node ? "node " + (*carried)->node : context_.lead,
                      .reason = std::string(*allowed ? "approved" : "denied") +
                                (by_node ? " by the node that led then" : " in the lead's name by another program")};
    finding.fields.emplace_back("decision", *allowed ? "approved" : "denied");
    if (open == nullptr) return judge_other(name, envelope, std::move(finding), fresh, findings);
    finding.closes = *open;
  } else if (open != nullptr) {
    finding.event = Event::answer_malformed;
    finding.fields.emplace_back(
        "reason",
        "workers do not understand an answer of this shape; the request stays open, answer it with "
        "inbox-poller approve or deny");
  } else {
    return;
  }
  findings.push_back(std::move(finding));
}

void WorkerBoxes::judge_other(const handlers::RequestName& name, const schema::Message& envelope, Finding finding,
                              bool fresh, std::vector<Finding>& findings) const {
  const auto known = context_.ledger.requests().find(context_.name, name);
  if (!known || finding.is_expected || context_.config.cluster.is_set()) return;  // another node may have written it
  if (*known) {
    finding.fields.emplace_back("reason", "the request was decided before: " + std::string(to_string((*known)->state)) +
                                              " by " + (*known)->decided_by +
                                              "; the first answer at the worker counts");
    if (fresh) findings.push_back(std::move(finding));
    return;
  }
  requests_.answered_early(name, envelope.timestamp, std::move(finding.answer));
}

std::map<std::string, OrphanedInbox> WorkerBoxes::orphaned_inboxes() const {
  auto told = orphaned_;
  std::erase_if(told, [](const auto& orphan) { return !orphan.second.told; });
  return told;
}

}  // namespace inbox_poller::poller
