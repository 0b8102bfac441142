#include "poller/team/intake.hpp"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "handlers/answers_count.hpp"
#include "handlers/dispatch.hpp"
#include "poller/context/message_life.hpp"
#include "schema/codec.hpp"
#include "schema/array_entry.hpp"

namespace inbox_poller::poller {

using schema::InboxDocument;
using schema::InboxEntry;
using schema::ReadFlag;

namespace {

/// Of rows that role front and observer leave to the lead.
constexpr const char* left_code = "role.left";

/// The type of what answers an ask of this type. A declined wish to stop is plain chat.
std::string_view answer_of(std::string_view ask) {
  if (ask == schema::PermissionRequest::type) return schema::PermissionResponse::type;
  if (ask == schema::SandboxPermissionRequest::type) return schema::SandboxPermissionResponse::type;
  if (ask == schema::PlanApprovalRequest::type) return schema::PlanApprovalResponse::type;
  return schema::PlainText::type;
}

/// Of what was written under this id, the answer to its asker, with the words that were decided with it. Whoever asks
/// chooses the id, so there may be anything else under it, for anybody.
std::vector<OutboxRow> only_answers(std::vector<OutboxRow> rows, const MessageRow& ask) {
  const auto inbox = schema::inbox_name(ask.sender);
  const auto type_of = [](const OutboxRow& row) -> std::string {
    const auto envelope = schema::decode_entry(row.entry);
    return envelope ? std::string(schema::type_name(schema::decode_payload(envelope->text))) : std::string();
  };
  std::set<long long> batches;
  for (const auto& row : rows)
    if (row.inbox == inbox && type_of(row) == answer_of(ask.type)) batches.insert(row.batch);
  std::erase_if(rows, [&](const OutboxRow& row) {
    const auto type = type_of(row);
    const bool fits = type == answer_of(ask.type) || type == schema::PlainText::type;
    return row.inbox != inbox || !fits || !batches.contains(row.batch);
  });
  return rows;
}

/// Clients say the same up to four times in a row; the same report much later is news.
constexpr std::chrono::milliseconds one_breath{60'000};

}  // namespace

boost::asio::awaitable<Status> Intake::take(const std::string& inbox, const InboxDocument& document,
                                            const Window& window, std::vector<std::size_t>& to_mark) {
  if (window.first == 0) {
    anew_ = std::exchange(forgotten_, false);
    left_out_ = false;
  }
  const auto entries = std::span(document.entries()).subspan(window.first, window.last - window.first);
  std::vector<const InboxEntry*> unknown;
  for (const auto& entry : entries)
    if (!is_present(entry)) unknown.push_back(&entry);

  Fresh fresh;
  fresh.inbox = inbox;
  if (!unknown.empty()) {
    std::function<Status(EventBatch&)> work = [&](EventBatch& events) {
      return take_all(document, unknown, events, fresh);
    };
    std::function<void()> applied = [&] { apply(fresh); };
    const auto committed = co_await commits_.commit(context_, std::move(work), std::move(applied));
    if (!committed) co_return committed;
  }

  const auto role = context_.config.team.role;
  present_.add(std::move(fresh.keys));
  for (std::size_t i = window.first; i < window.last; ++i) {
    const auto& entry = document.entries()[i];
    const bool unread = entry.read == ReadFlag::unread || entry.read == ReadFlag::absent;
    // An entry whose flag is not a boolean, or that is no object, has no flag to set: it stays, and stays known.
    const bool may_mark =
        role == config::Role::leader || (role == config::Role::front && ours_.contains(entry.key.value));
    if (unread && may_mark && is_present(entry) && document.entry_bytes(entry).starts_with('{')) to_mark.push_back(i);
  }
  left_out_ = left_out_ || !fresh.full.empty();
  full_told_ = full_told_ || !fresh.full.empty();
  looked_ = true;
  co_return Done{};
}

Status Intake::take_all(const InboxDocument& document, const std::vector<const InboxEntry*>& unknown,
                        EventBatch& events, Fresh& fresh) {
  auto waiting = context_.ledger.deliveries().waiting_by_sender(context_.name);
  if (!waiting) return waiting.error();
  fresh.waiting = *std::move(waiting);
  for (const auto& [sender, count] : fresh.waiting) fresh.queued_chat += count;
  const auto batch = context_.ledger.next_batch();
  if (!batch) return batch.error();
  fresh.batch = *batch;
  for (const auto* entry : unknown) {
    const auto known = context_.ledger.messages().known(entry->key);
    if (!known) return known.error();
    if (!*known) {
      if (auto accepted = accept(document, *entry, events, fresh); !accepted) return accepted;
      continue;
    }
    if (auto met = met_again(*entry, events, fresh); !met) return met;
  }
  for (const auto& [name, member] : fresh.members)
    if (auto put = context_.ledger.members().put(member); !put) return put;
  if (!fresh.full.empty() && !full_told_)
    events.add(Event::inbox_full, {{"team", context_.name},
                                   {"inbox", fresh.inbox},
                                   {"count", std::to_string(fresh.queued_chat)},
                                   {"reason", fresh.full + ": further chat stays unread in the inbox"}});
  return Done{};
}

void Intake::apply(Fresh& fresh) {
  for (const auto& request : fresh.pending) asks_.opened(request);
  for (auto& [name, member] : fresh.members) context_.members[name] = std::move(member);
  for (const auto& shutdown : fresh.answered) shutdowns_.answered(shutdown);
  for (const auto& id : fresh.repeated) outbox_.owed_again(id);
  ours_.insert(fresh.ours.begin(), fresh.ours.end());
  for (const auto& request : fresh.moot) {
    handlers::Answer answer;
    answer.event = handlers::RequestEvent::answered_by_other;
    answer.by = context_.lead;
    answer.reason = "the worker's turn has ended, so it waits no longer";
    static_cast<void>(asks_.answer(request, answer, false));
  }
}

void Intake::finish(const InboxDocument& document, std::size_t known, bool whole) {
  std::vector<Fingerprint> still;
  std::unordered_set<std::string> still_ours;
  for (std::size_t i = 0; i < document.entries().size(); ++i) {
    const auto& key = document.entries()[i].key;
    if (i >= known && is_present(document.entries()[i])) still.push_back(fingerprint(key));
    if (ours_.contains(key.value)) still_ours.insert(key.value);
  }
  present_ = KeySet(std::move(still));
  if (whole) ours_ = std::move(still_ours);
  full_told_ = left_out_;
}

bool Intake::is_present(const InboxEntry& entry) const {
  return (entry.known && !anew_) || present_.contains(entry.key);
}

Status Intake::accept(const InboxDocument& document, const InboxEntry& entry, EventBatch& events, Fresh& fresh) {
  MessageRow row;
  row.team = context_.name;
  row.inbox = fresh.inbox;
  row.key = entry.key;
  row.entry = std::string(document.entry_bytes(entry));
  row.received_ms = context_.clock.wall_ms();
  row.batch = fresh.batch;

  const auto envelope = schema::decode_entry(row.entry);
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

Status Intake::judge(const InboxEntry& entry, const schema::Message& envelope, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  const auto payload = schema::decode_payload(envelope.text);
  row.type = std::string(schema::type_name(payload));

  handlers::RequestView known;
  std::optional<handlers::Shutdown> shutdown;
  if (const auto id = handlers::shutdown_of(payload)) {
    row.request_id = *id;
    auto found = context_.ledger.shutdowns().find(context_.name, *id);
    if (!found) return found.error();
    shutdown = std::move(*found);
    known.shutdown = shutdown ? &*shutdown : nullptr;
  }
  if (const auto* member = last_known(row.sender, fresh);
      member != nullptr && row.received_ms - member->last_seen_ms < one_breath.count()) {
    known.last_state = member->state;
    known.last_detail = member->detail;
  }
  std::optional<handlers::Request> same_id;
  if (const auto ref = handlers::request_of(payload)) {
    row.request_id = ref->request_id;
    auto found = context_.ledger.asks().find(context_.name, ref->kind, ref->request_id);
    if (!found) return found.error();
    same_id = std::move(*found);
    known.same_id = same_id ? &*same_id : nullptr;
    const auto open = context_.ledger.asks().open_count(context_.name, row.sender);
    if (!open) return open.error();
    known.pending_of_asker = *open;
    const auto plans = context_.ledger.asks().plan_count(context_.name, row.sender, ref->content_hash);
    if (!plans) return plans.error();
    known.same_plan_count = *plans;
    if (context_.config.team.role != config::Role::observer) {
      known.worth = context_.worth(row.sender);
      context_.warn_of(row.sender, known.worth);
    }
  }
  const handlers::Incoming incoming{envelope, entry.key, row.received_ms, place_};
  const auto outcome = handlers::dispatch(incoming, payload, context_.view(), known);
  return std::visit([&](const auto& what) { return apply(what, entry, row, events, fresh); }, outcome);
}

Status Intake::apply(const handlers::ToLead&, const InboxEntry& entry, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  seen(row, fresh);
  if (context_.config.team.role != config::Role::leader) return leave(row, Disposition::chat, events, fresh);
  row.disposition = Disposition::chat;
  if (entry.read == ReadFlag::read) {
    // Somebody consumed it before we ever saw it; whether the lead got it is theirs to know.
    row.reason = "was already marked read when it was first seen";
    return record(row, Event::message_already_read, events, fresh);
  }
  if (!has_room(row.sender, fresh)) return Done{};
  ++fresh.queued_chat;
  ++fresh.waiting[row.sender];
  row.delivery = DeliveryState::queued;
  const auto& urgent = context_.config.delivery.urgent;
  if (std::find(urgent.begin(), urgent.end(), row.sender) != urgent.end()) row.priority = Priority::urgent;
  return record(row, Event::message_accepted, events, fresh);
}

Status Intake::apply(const handlers::WorkerStatus& status, const InboxEntry& entry, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  if (auto* member = seen(row, fresh); member != nullptr) {
    member->state = status.state;
    member->detail = status.detail;
    const bool names_it = status.state == "assigned" || status.state == "completed";
    if (!status.task.empty() && (names_it || member->task.empty())) member->task = status.task;
  }
  // A turn has ended: no tool call of it waits for a permission any more, whoever answered.
  for (const auto& request : asks_.open())
    if (request.asker == row.sender && request.kind != handlers::RequestKind::plan && status.state != "assigned" &&
        (request.deadline_ms == 0 || context_.config.team.role != config::Role::leader))
      fresh.moot.push_back(request);
  if (context_.config.team.role != config::Role::leader) return leave(row, Disposition::status, events, fresh);
  row.disposition = Disposition::status;
  const bool fits = fresh.queued_chat < context_.config.limits.queued_chat;
  if (entry.read != ReadFlag::read && status.to_lead && fits) {
    ++fresh.queued_chat;
    row.delivery = DeliveryState::queued;
    if (status.went_wrong) row.priority = Priority::urgent;
  } else if (entry.read != ReadFlag::read && status.in_digest) {
    row.delivery = DeliveryState::queued;
    row.priority = Priority::digest;
  }
  return record(row, Event::message_accepted, events, fresh);
}

Status Intake::apply(const handlers::Refused& refused, const InboxEntry&, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  if (context_.config.team.role != config::Role::leader) return leave(row, Disposition::control, events, fresh);
  row.disposition = Disposition::refused;
  row.code = refused.code;
  row.reason = refused.reason;
  return record(row, Event::message_refused, events, fresh);
}

Status Intake::apply(const handlers::Asked& asked, const InboxEntry& entry, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  row.disposition = Disposition::control;
  seen(row, fresh);
  if (context_.config.team.role == config::Role::front && !handlers::is_open(asked.request.state)) {
    if (entry.read == ReadFlag::read) {
      if (looked_)
        events.add(Event::request_lost_race, {{"team", context_.name},
                                              {"request_id", asked.request.request_id},
                                              {"from", asked.request.asker},
                                              {"reason", "the lead had read the ask before we did"}});
      return leave(row, Disposition::control, events, fresh);
    }
    fresh.ours.insert(row.key.value);
  }
  if (auto recorded = record(row, Event::message_accepted, events, fresh); !recorded) return recorded;
  const auto& request = asked.request;
  if (auto put = context_.ledger.asks().put(context_.name, request); !put) return put;
  if (auto queued = context_.enqueue(asked.posts, request.request_id, row.batch); !queued) return queued;
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
    return asks_.put_before_lead(request, events);
  }
  fields.emplace_back("latency_ms", "0");
  events.add(Event::request_decided, std::move(fields));
  return Done{};
}

Status Intake::apply(const handlers::AskedAgain&, const InboxEntry&, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  const auto role = context_.config.team.role;
  if (role == config::Role::observer) return leave(row, Disposition::control, events, fresh);
  const auto worth = context_.worth(row.sender);
  if (role == config::Role::front) {
    const auto ours = answered_by_us(row.request_id, row.sender);
    if (!ours) return ours.error();
    if (!*ours || !worth.counts()) return leave(row, Disposition::control, events, fresh);
    fresh.ours.insert(row.key.value);
  }
  row.disposition = Disposition::control;
  row.reason = worth.counts() ? "the same ask as before; the recorded answer, if there is one, is written again"
                              : "the same ask as before; nothing is written: " + handlers::verifies(row.sender, worth);
  if (auto recorded = record(row, Event::request_repeated, events, fresh); !recorded) return recorded;
  if (!worth.counts()) return Done{};  // nor is one written again that it would refuse
  auto written = context_.ledger.outbox().of_request(context_.name, row.request_id);
  if (!written) return written.error();
  auto answers = only_answers(*std::move(written), row);
  if (answers.empty()) return Done{};
  fresh.repeated.push_back(row.request_id);
  return context_.ledger.outbox().resend(std::move(answers), row.received_ms);
}

Status Intake::apply(const handlers::ShutdownAnswered& answered, const InboxEntry&, MessageRow& row, EventBatch& events,
                     Fresh& fresh) {
  seen(row, fresh);
  auto found = context_.ledger.shutdowns().find(context_.name, answered.request_id);
  if (!found) return found.error();
  auto shutdown = std::move(**found);  // it was there a moment ago, in this transaction
  const auto old = shutdown.state;
  const auto next = handlers::transition(
      old, answered.approved ? handlers::ShutdownEvent::worker_approves : handlers::ShutdownEvent::worker_rejects);
  if (!next) return Error{"ledger.final", "shutdown " + answered.request_id + " takes no further answer"};
  shutdown.state = *next;
  shutdown.changed_ms = row.received_ms;
  shutdown.answer = answered.answer;
  shutdown.detail.clear();
  if (auto put = context_.ledger.shutdowns().put(context_.name, shutdown); !put) return put;
  // The lead reads the worker's reason in its own words; of a consent it hears when all is done.
  row.disposition = answered.approved ? Disposition::control : Disposition::chat;
  if (!answered.approved) row.delivery = DeliveryState::queued;
  if (auto recorded = record(row, Event::message_accepted, events, fresh); !recorded) return recorded;
  events.add(Event::shutdown_state, {{"team", context_.name},
                                     {"request_id", shutdown.request_id},
                                     {"from", shutdown.member},
                                     {"old", std::string(handlers::to_string(old))},
                                     {"new", std::string(handlers::to_string(shutdown.state))},
                                     {"reason", answered.answer}});
  fresh.answered.push_back(std::move(shutdown));
  return Done{};
}

Status Intake::leave(MessageRow& row, Disposition disposition, EventBatch& events, Fresh& fresh) const {
  row.disposition = disposition;
  row.code = left_code;
  row.reason = "left to the lead, which consumes this inbox itself (role " +
               std::string(config::to_string(context_.config.team.role)) + ")";
  return record(row, Event::message_left, events, fresh);
}

Status Intake::met_again(const InboxEntry& entry, EventBatch& events, Fresh& fresh) const {
  fresh.keys.push_back(fingerprint(entry.key));
  const auto role = context_.config.team.role;
  if (role == config::Role::observer || entry.read == ReadFlag::read) return Done{};
  const auto found = context_.ledger.messages().find(entry.key);
  if (!found) return found.error();
  if (!*found) return Done{};
  const auto& row = **found;
  if (role == config::Role::front) {
    const auto ours = answered_by_us(row.request_id, row.sender);
    if (!ours) return ours.error();
    if (*ours && row.code != left_code) fresh.ours.insert(entry.key.value);
    return Done{};
  }
  if (row.code != left_code || row.disposition != Disposition::chat || row.delivery != DeliveryState::none)
    return Done{};
  // It was left to another lead, which has not read it, and now we are the lead's side.
  ++fresh.queued_chat;
  events.add(Event::message_accepted, {{"team", context_.name},
                                       {"inbox", row.inbox},
                                       {"from", row.sender},
                                       {"type", row.type},
                                       {"message_key", row.key.value},
                                       {"new", "queued"},
                                       {"reason", "was left to another lead, which did not read it"}});
  return context_.ledger.deliveries().take_over(entry.key);
}

Result<bool> Intake::answered_by_us(const std::string& request_id, const std::string& asker) const {
  if (request_id.empty()) return false;
  const auto requests = context_.ledger.asks().by_id(request_id);
  if (!requests) return requests.error();
  return std::any_of(requests->begin(), requests->end(), [&](const auto& item) {
    return item.first == context_.name && item.second.asker == asker && item.second.decided_by == "rule";
  });
}

/// Each sender has an equal share of the queue, used or not: however much one writes, there is room for what the others
/// say.
bool Intake::has_room(const std::string& sender, Fresh& fresh) const {
  const long long all = context_.config.limits.queued_chat;
  const auto senders =
      std::max<std::size_t>(2, context_.roster.members.size()) - 1 + context_.config.delivery.senders.size();
  const long long share = std::max<long long>(1, all / static_cast<long long>(senders));
  if (fresh.queued_chat >= all) {
    fresh.full = "limits.queued_chat is reached";
  } else if (fresh.waiting[sender] >= share) {
    fresh.full = sender + " has its share of limits.queued_chat (" + std::to_string(share) + ") in the queue";
  } else {
    return true;
  }
  return false;
}

Status Intake::record(const MessageRow& row, Event event, EventBatch& events, Fresh& fresh) const {
  if (auto inserted = context_.ledger.messages().insert(row); !inserted) return inserted.error();
  fresh.keys.push_back(fingerprint(row.key));
  // Chat and status that came in as they were: by far the most, and the row tells it all. An ask's line is its own.
  if (event == Event::message_accepted && row.request_id.empty())
    events.add_told_by_row(event, accepted_fields(row));
  else
    events.add(event, accepted_fields(row));
  return Done{};
}

const MemberRow* Intake::last_known(const std::string& name, const Fresh& fresh) const {
  if (const auto now = fresh.members.find(name); now != fresh.members.end()) return &now->second;
  const auto before = context_.members.find(name);
  return before == context_.members.end() ? nullptr : &before->second;
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
