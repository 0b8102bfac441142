#include "poller/run/intake.hpp"

#include <algorithm>
#include <variant>

#include "handlers/dispatch.hpp"
#include "schema/codec.hpp"
#include "schema/envelope.hpp"

namespace inbox_poller::poller {

using schema::InboxDocument;
using schema::InboxEntry;
using schema::ReadFlag;

Status Intake::take(const InboxDocument& document, std::vector<std::size_t>& to_mark) {
  std::vector<const InboxEntry*> unknown;
  for (const auto& entry : document.entries())
    if (!present_.contains(entry.key.value)) unknown.push_back(&entry);

  Fresh fresh;
  if (!unknown.empty()) {
    const auto counts = context_.ledger.chat_counts(context_.name);
    if (!counts) return counts.error();
    fresh.queued_chat = counts->queued + counts->offered;
    const auto committed = context_.commit([&](EventBatch& events) -> Status {
      const auto batch = context_.ledger.next_batch();
      if (!batch) return batch.error();
      for (const auto* entry : unknown) {
        const auto known = context_.ledger.known(entry->key);
        if (!known) return known.error();
        if (*known) {
          fresh.keys.push_back(entry->key.value);
        } else if (auto accepted = accept(document, *entry, *batch, events, fresh); !accepted) {
          return accepted;
        }
      }
      for (const auto& [name, member] : fresh.members)
        if (auto put = context_.ledger.put_member(member); !put) return put;
      if (fresh.full && !left_out_)
        events.add(Event::inbox_full,
                   {{"team", context_.name},
                    {"inbox", context_.lead},
                    {"count", std::to_string(fresh.queued_chat)},
                    {"reason", "limits.queued_chat is reached: further chat stays unread in the inbox"}});
      return Done{};
    });
    if (!committed) return committed;
    for (const auto& request : fresh.pending) asks_.opened(request);
    for (auto& [name, member] : fresh.members) context_.members[name] = std::move(member);
  }

  std::unordered_set<std::string> now_present;
  now_present.reserve(document.entries().size());
  for (auto& key : fresh.keys) now_present.insert(std::move(key));
  for (std::size_t i = 0; i < document.entries().size(); ++i) {
    const auto& entry = document.entries()[i];
    if (present_.contains(entry.key.value)) now_present.insert(entry.key.value);
    const bool unread = entry.read == ReadFlag::unread || entry.read == ReadFlag::absent;
    // An entry whose flag is not a boolean, or that is no object, has no flag to set: it stays, and stays known.
    if (unread && now_present.contains(entry.key.value) && document.entry_bytes(entry).starts_with('{'))
      to_mark.push_back(i);
  }
  present_ = std::move(now_present);
  left_out_ = fresh.full;
  return Done{};
}

Status Intake::accept(const InboxDocument& document, const InboxEntry& entry, long long batch, EventBatch& events,
                      Fresh& fresh) {
  MessageRow row;
  row.team = context_.name;
  row.inbox = context_.lead;
  row.key = entry.key;
  row.entry = std::string(document.entry_bytes(entry));
  row.received_ms = context_.clock.wall_ms();
  row.batch = batch;

  const auto envelope = schema::decode_envelope(row.entry);
  if (!envelope) {
    row.disposition = Disposition::bad;
    row.type = "bad";
    row.code = envelope.error().code;
    row.reason = envelope.error().message;
    return record(row, Event::message_bad, events, fresh);
  }
  row.sender = std::string(schema::bare_name(envelope->from));
  row.timestamp = envelope->timestamp;
  // Peers identify a message by (from, timestamp, text); without a timestamp two equal texts are two messages.
  if (schema::occurrence_of(entry.key) > 0 && !envelope->timestamp.empty()) {
    row.disposition = Disposition::duplicate;
    row.type = "duplicate";
    row.reason = "the same sender, time and text as an earlier entry of this inbox";
    return record(row, Event::message_duplicate, events, fresh);
  }
  return judge(entry, *envelope, row, events, fresh);
}

Status Intake::judge(const InboxEntry& entry, const schema::Envelope& envelope, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  const auto payload = schema::decode_payload(envelope.text);
  row.type = std::string(schema::type_name(payload));

  handlers::RequestView known;
  std::optional<handlers::Request> same_id;
  if (const auto ref = handlers::request_of(payload)) {
    row.request_id = ref->request_id;
    auto found = context_.ledger.request(context_.name, ref->kind, ref->request_id);
    if (!found) return found.error();
    same_id = std::move(*found);
    known.same_id = same_id ? &*same_id : nullptr;
    const auto open = context_.ledger.open_count(context_.name, row.sender);
    if (!open) return open.error();
    known.pending_of_asker = *open;
    const auto plans = context_.ledger.plan_count(context_.name, row.sender, ref->content_hash);
    if (!plans) return plans.error();
    known.same_plan_count = *plans;
  }
  const handlers::Incoming incoming{envelope, entry.key, row.received_ms};
  const auto outcome = handlers::dispatch(incoming, payload, context_.view(), known);
  return std::visit([&](const auto& what) { return apply(what, entry, row, events, fresh); }, outcome);
}

Status Intake::apply(const handlers::ToLead&, const InboxEntry& entry, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  row.disposition = Disposition::chat;
  seen(row, fresh);
  if (entry.read == ReadFlag::read) {
    // Somebody consumed it before we ever saw it; whether the lead got it is theirs to know.
    row.reason = "was already marked read when it was first seen";
    return record(row, Event::message_already_read, events, fresh);
  }
  if (fresh.queued_chat >= context_.config.limits.queued_chat) {
    fresh.full = true;
    return Done{};
  }
  ++fresh.queued_chat;
  row.delivery = DeliveryState::queued;
  return record(row, Event::message_accepted, events, fresh);
}

Status Intake::apply(const handlers::WorkerStatus& status, const InboxEntry& entry, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  if (auto* member = seen(row, fresh); member != nullptr) {
    member->state = status.state;
    member->detail = status.detail;
  }
  row.disposition = Disposition::status;
  const bool fits = fresh.queued_chat < context_.config.limits.queued_chat;
  if (status.to_lead && entry.read != ReadFlag::read && fits) {
    ++fresh.queued_chat;
    row.delivery = DeliveryState::queued;
  }
  return record(row, Event::message_accepted, events, fresh);
}

Status Intake::apply(const handlers::Refused& refused, const InboxEntry&, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  row.disposition = Disposition::refused;
  row.code = refused.code;
  row.reason = refused.reason;
  return record(row, Event::message_refused, events, fresh);
}

Status Intake::apply(const handlers::Asked& asked, const InboxEntry&, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  row.disposition = Disposition::control;
  seen(row, fresh);
  if (auto recorded = record(row, Event::message_accepted, events, fresh); !recorded) return recorded;
  const auto& request = asked.request;
  if (auto put = context_.ledger.put_request(context_.name, request); !put) return put;
  if (auto queued = context_.enqueue(asked.effects, request.request_id, row.batch); !queued) return queued;
  Fields fields{{"team", context_.name},
                {"request_id", request.request_id},
                {"message_key", row.key.value},
                {"type", std::string(handlers::to_string(request.kind))},
                {"from", request.asker},
                {"subject", request.subject},
                {"old", "received"},
                {"new", std::string(handlers::to_string(request.state))},
                {"by", request.decided_by},
                {"rule", request.rule},
                {"reason", request.reason}};
  if (handlers::is_open(request.state)) {
    fields.emplace_back("deadline_ms", std::to_string(request.deadline_ms));
    fresh.pending.push_back(request);
    events.add(Event::request_pending, std::move(fields));
  } else {
    fields.emplace_back("latency_ms", "0");
    events.add(Event::request_decided, std::move(fields));
  }
  return Done{};
}

Status Intake::apply(const handlers::AskedAgain&, const InboxEntry&, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  row.disposition = Disposition::control;
  row.reason = "the same ask as before; the recorded answer, if there is one, is written again";
  if (auto recorded = record(row, Event::request_repeated, events, fresh); !recorded) return recorded;
  return context_.ledger.resend(context_.name, row.request_id, row.received_ms);
}

Status Intake::record(const MessageRow& row, Event event, EventBatch& events, Fresh& fresh) const {
  if (auto inserted = context_.ledger.insert(row); !inserted) return inserted.error();
  fresh.keys.push_back(row.key.value);
  Fields fields{{"team", context_.name},
                {"inbox", row.inbox},
                {"from", row.sender},
                {"type", row.type},
                {"message_key", row.key.value}};
  if (!row.request_id.empty()) fields.emplace_back("request_id", row.request_id);
  fields.emplace_back(
      "new", std::string(row.delivery == DeliveryState::queued ? to_string(row.delivery) : to_string(row.disposition)));
  if (!row.code.empty()) fields.emplace_back("code", row.code);
  if (!row.reason.empty()) fields.emplace_back("reason", row.reason);
  events.add(event, std::move(fields));
  return Done{};
}

/// Notes a sign of life of somebody who is or was a member; null for other welcome senders.
MemberRow* Intake::seen(const MessageRow& row, Fresh& fresh) const {
  const auto known = context_.members.find(row.sender);
  if (known == context_.members.end()) return nullptr;
  auto& member = fresh.members.try_emplace(row.sender, known->second).first->second;
  member.last_seen_ms = row.received_ms;
  return &member;
}

}  // namespace inbox_poller::poller
