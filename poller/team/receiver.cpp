#include "poller/team/receiver.hpp"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <set>
#include <utility>
#include <variant>

#include "handlers/answers_count.hpp"
#include "handlers/dispatch.hpp"
#include "handlers/request_kind.hpp"
#include "handlers/subject.hpp"
#include "handlers/unsent_report.hpp"
#include "poller/context/message_life.hpp"
#include "poller/team/earlier_leaders.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::poller {

using handlers::Right;

namespace {

/// Keeps only the answers to this request and the texts decided with them. The asker chooses the id, so unrelated rows
/// may share it.
std::vector<OutboxRow> only_answers(std::vector<OutboxRow> rows, const MessageRow& request) {
  const auto inbox = schema::inbox_name(request.sender);
  const auto* kind = handlers::kind_asked_by(request.type);
  const auto answer = kind == nullptr ? schema::PlainText::type : kind->answer_type;
  const auto type_of = [](const OutboxRow& row) { return schema::type_name(schema::decode_payload(row.message.text)); };
  std::set<long long> batches;
  for (const auto& row : rows)
    if (row.inbox == inbox && type_of(row) == answer) batches.insert(row.batch);
  std::erase_if(rows, [&](const OutboxRow& row) {
    const auto type = type_of(row);
    const bool fits = type == answer || type == schema::PlainText::type;
    return row.inbox != inbox || !fits || !batches.contains(row.batch);
  });
  return rows;
}

constexpr const char* ignored_ending = "; that counts as absent";

/// Clients repeat a report up to four times in a row; the same report much later is new.
constexpr std::chrono::milliseconds duplicate_window{60'000};

}  // namespace

boost::asio::awaitable<Status> Receiver::take(const std::string& inbox, const Batch& batch,
                                            std::vector<Ack>& disposals) {
  Piece piece;
  piece.inbox = inbox;
  if (!batch.taken.empty()) {
    Work work = [&](Tx& tx) -> Status {
      TRY(take_all(batch.taken, tx, piece));
      delivery_.lease_on_arrival(tx);
      return Done{};
    };
    CO_TRY(co_await commits_.commit(context_, std::move(work)));
    close(piece.moot);
  }
  full_told_ = full_told_ || !piece.full.empty();
  disposals = std::move(piece.disposals);
  co_return Done{};
}

Status Receiver::take_all(const std::vector<BoxMessage>& taken, Tx& tx, Piece& piece) {
  TRY(const auto batch, tx.ledger.next_batch());
  piece.batch = batch;
  for (const auto& one : taken) {
    piece.stays = piece.ours = false;
    TRY(const auto known, is_known(context_, piece.inbox, one.key, tx));
    TRY(known ? met_again(one, tx, piece) : accept(one, tx, piece));
    const bool consumed = handlers::may_mark(context_.membership, piece.ours);
    const auto disposal = consumed ? Ack::ack : Ack::skip;
    piece.disposals.push_back(piece.stays ? Ack::requeue : disposal);
  }
  for (const auto& [priority, ids] : piece.queued) TRY(tx.ledger.deliveries().queue(context_.name, priority, ids));
  for (const auto& [name, member] : piece.members)
    TRY(tx.ledger.members().put(member));
  tx.then([&] {
    for (auto& [name, member] : piece.members) context_.members[name] = std::move(member);
  });
  if (piece.full.empty() || full_told_) return Done{};
  TRY(const auto waiting, tx.ledger.deliveries().waiting(context_.name));
  tx.log(Event::inbox_full, {{"team", context_.name},
                             {"inbox", piece.inbox},
                             {"count", std::to_string(waiting->all)},
                             {"reason", piece.full + ": further chat stays unread in the inbox"}});
  return Done{};
}

void Receiver::close(const std::vector<Piece::Moot>& moot) {
  for (const auto& [name, answer] : moot)
    if (const auto* request = requests_.find(name); request != nullptr)  // null if it was answered meanwhile
      static_cast<void>(requests_.answer(*request, answer, false));
}

Status Receiver::accept(const BoxMessage& taken, Tx& tx, Piece& piece) {
  MessageRow row;
  row.team = context_.name;
  row.inbox = piece.inbox;
  row.key = taken.key;
  row.received_ms = context_.clock.wall_ms();
  row.batch = piece.batch;
  row.attempts = taken.may_be_repeat ? 1 : 0;

  piece.bytes = taken.bytes;
  auto decoded = mailbox_.decode(taken.bytes);
  if (!decoded) {
    row.disposition = Disposition::malformed;
    row.type = "malformed";
    row.code = decoded.error().code;
    row.reason = decoded.error().message;
    return record(row, Event::message_malformed, tx, piece);
  }
  piece.says_all = decoded->says_all;
  if (!decoded->ignored.empty()) row.reason = decoded->ignored + ignored_ending;
  row.message = std::move(decoded->message);
  row.sender = std::string(schema::bare_name(row.message.from));
  // Peers identify a message by (from, timestamp, text); without a timestamp two equal texts are two messages.
  if (schema::occurrence_of(taken.key) > 0 && !row.message.timestamp.empty()) {
    row.disposition = Disposition::duplicate;
    row.type = "duplicate";
    row.reason = "the same sender, time and text as an earlier entry of this inbox";
    return record(row, Event::message_duplicate, tx, piece);
  }
  return judge(taken, row, tx, piece);
}

Status Receiver::judge(const BoxMessage& taken, MessageRow& row, Tx& tx, Piece& piece) {
  std::string ignored;
  const auto payload = schema::decode_payload(row.message.text, &ignored);
  if (!ignored.empty()) row.reason += (row.reason.empty() ? "" : "; ") + std::move(ignored) + ignored_ending;
  row.type = std::string(schema::type_name(payload));
  if (place_ == handlers::Place::worker) {  // not ours to judge
    seen(row, piece);
    row.disposition = Disposition::chat;
    row.code = handlers::between_code;
    row.reason = "written to " + row.inbox + "; the team is only watched";
    return record(row, Event::message_ignored, tx, piece);
  }

  handlers::RequestView known;
  std::optional<handlers::Shutdown> shutdown;
  if (const auto id = handlers::shutdown_of(payload)) {
    row.request_id = *id;
    TRY(shutdown, tx.ledger.shutdowns().find(context_.name, *id));
    known.shutdown = shutdown ? &*shutdown : nullptr;
  }
  if (const auto* member = last_known(row.sender, piece);
      member != nullptr && row.received_ms - member->last_seen_ms < duplicate_window.count()) {
    known.last_state = member->state;
    known.last_detail = member->detail;
  }
  std::optional<handlers::Request> same_id;
  if (const auto ref = handlers::request_of(payload)) {
    row.request_id = ref->request_id;
    TRY(auto found, tx.ledger.requests().find(context_.name, {ref->kind, row.sender, ref->request_id}));
    TRY(same_id, first_of(*ref, std::move(found), row.sender, context_, mailbox_, tx));
    known.same_id = same_id ? &*same_id : nullptr;
    TRY(known.pending_of_asker, tx.ledger.requests().open_count(context_.name, row.sender));
    TRY(known.same_plan_count, tx.ledger.requests().plan_count(context_.name, row.sender, ref->content_hash));
    known.why_leads = why_leads(*ref, row, taken.read, piece);
    if (context_.may(Right::answer_by_rule)) {
      known.authority = context_.answer_authority(row.sender);
      tx.then([this, name = row.sender, authority = known.authority] { context_.warn_of(name, authority); });
    }
  }
  const handlers::Incoming incoming{row.message, taken.key, row.received_ms, place_, taken.joined_ms};
  const auto outcome = handlers::dispatch(incoming, payload, context_.view(), known);
  return std::visit([&](const auto& what) { return apply(what, taken, row, tx, piece); }, outcome);
}

std::string_view Receiver::why_leads(const handlers::RequestRef& ref, const MessageRow& row, bool was_read,
                                     Piece& piece) const {
  piece.early = requests_.early_answer(ref, row.sender, row.message.timestamp);
  return handlers::why_leads(piece.early.has_value(), was_read, context_.membership);
}

Status Receiver::apply(const handlers::ToLead& what, const BoxMessage& taken, MessageRow& row, Tx& tx, Piece& piece) {
  seen(row, piece);
  row.disposition = Disposition::chat;
  TRY(const auto arrived, arrival(taken, row));
  return receive(handlers::receive(what, arrived, context_.view()), row, tx, piece);
}

Result<handlers::Arrival> Receiver::arrival(const BoxMessage& taken, const MessageRow& row) const {
  TRY(const auto waiting, context_.ledger.deliveries().waiting(context_.name));
  return handlers::Arrival{row.sender, taken.read, waiting->all, waiting->of(row.sender)};
}

Status Receiver::receive(const handlers::Reception& reception, MessageRow& row, Tx& tx,
                       Piece& piece) const {
  using What = handlers::Reception::What;
  switch (reception.what) {
    case What::left: return leave(row, row.disposition, tx, piece);
    case What::stays:
      piece.full = reception.reason;
      piece.stays = true;
      return Done{};
    case What::already_read: row.reason = reception.reason; return record(row, Event::message_already_read, tx, piece);
    case What::accepted: break;
  }
  if (reception.lane != handlers::Lane::none) row.delivery = DeliveryState::queued;
  if (reception.lane == handlers::Lane::digest) row.priority = Priority::digest;
  if (reception.lane == handlers::Lane::urgent) row.priority = Priority::urgent;
  return record(row, Event::message_accepted, tx, piece);
}

Status Receiver::apply(const handlers::WorkerStatus& status, const BoxMessage& taken, MessageRow& row, Tx& tx,
                     Piece& piece) {
  if (auto* member = seen(row, piece); member != nullptr) {
    member->state = status.state;
    member->detail = status.detail;
    if (status.went_wrong) member->has_told = false;  // such a turn ends without a Stop hook
    const bool idle = status.state == handlers::WorkerReport::idle;
    if (status.went_wrong || idle) member->turn.clear();  // written after all Stop hooks of the turn
    const bool names_it =
        status.state == handlers::WorkerReport::assigned || status.state == handlers::WorkerReport::completed;
    if (!status.task.empty() && (names_it || member->task.empty())) member->task = status.task;
  }
  // The worker's turn has ended, so no tool call of it waits for a permission any more.
  for (const auto& request : requests_.open())
    if (handlers::is_moot(request, status, row.sender, context_.membership))
      piece.moot.push_back({name_of(request),
                            {.event = handlers::RequestEvent::answered_by_other,
                             .by = context_.lead,
                             .reason = "the worker's turn has ended, so it waits no longer"}});
  row.disposition = Disposition::status;
  TRY(const auto arrived, arrival(taken, row));
  return receive(handlers::receive(status, arrived, context_.view()), row, tx, piece);
}

Status Receiver::apply(const handlers::Refused& refused, const BoxMessage&, MessageRow& row, Tx& tx, Piece& piece) {
  const auto reception = handlers::receive(refused, context_.membership);
  if (reception.what == handlers::Reception::What::left) return leave(row, Disposition::control, tx, piece);
  row.disposition = Disposition::rejected;
  row.code = refused.code;
  row.reason = reception.reason;
  // Without an id, so that the earlier record remains the only answer to the reused id.
  tx.post(refused.posts, "", row.batch);
  // The worker reads the denial as one of both requests. A later approval of the first could be taken for the second.
  for (const auto& request : requests_.open())
    if (refused.code == "request.id_reused" && !refused.posts.empty() && request.asker == row.sender &&
        request.request_id == row.request_id && handlers::traits_of(request.kind).type == row.type)
      piece.moot.push_back({name_of(request),
                            {.event = handlers::RequestEvent::asker_leaves,
                             .by = "rule",
                             .reason = "its worker used the id for another request, which was denied"}});
  return record(row, Event::message_rejected, tx, piece);
}

Status Receiver::apply(const handlers::Asked& asked, const BoxMessage& taken, MessageRow& row, Tx& tx, Piece& piece) {
  row.disposition = Disposition::control;
  seen(row, piece);
  const auto& request = asked.request;
  if (taken.read && looked_ && context_.may(Right::answer_by_rule) && !context_.may(Right::take))
    tx.log(Event::request_answered_by_lead, {{"team", context_.name},
                                             {"request_id", request.request_id},
                                             {"from", request.asker},
                                             {"reason", "the lead had read the request before we did"}});
  piece.ours = context_.may(Right::take) || !handlers::is_open(request.state);
  TRY(record(row, Event::message_accepted, tx, piece));
  TRY(tx.ledger.requests().put(context_.name, request));
  tx.post(asked.posts, request.request_id, row.batch);
  auto fields = request_fields(context_.name, request, "received");
  if (handlers::is_open(request.state)) {
    fields.emplace_back("deadline_ms", std::to_string(request.deadline_ms));
    tx.then([this, request] { requests_.opened(request); });
    tx.log(Event::request_pending, std::move(fields));
    if (!piece.early) return requests_.put_before_lead(request, tx);
    piece.moot.push_back({name_of(request), *piece.early});
    return Done{};
  }
  fields.emplace_back("latency_ms", "0");
  tx.log(Event::request_decided, std::move(fields));
  return Done{};
}

Status Receiver::apply(const handlers::AskedAgain&, const BoxMessage&, MessageRow& row, Tx& tx, Piece& piece) {
  const auto authority = context_.answer_authority(row.sender);
  const bool beside_lead = !context_.may(Right::take);
  TRY(const auto by_rule, beside_lead ? requests_.answered_by_rule(row.request_id, row.sender) : Result<bool>(false));
  const auto repeat = handlers::repeated(context_.membership, by_rule, authority);
  if (repeat == handlers::Repeat::left) return leave(row, Disposition::control, tx, piece);
  if (beside_lead) piece.ours = true;
  row.disposition = Disposition::control;
  row.reason = repeat == handlers::Repeat::answered
                   ? "the same request as before; the recorded answer, if there is one, is written again"
                   : "the same request as before; nothing is written: " + handlers::verifies(row.sender, authority);
  TRY(record(row, Event::request_repeated, tx, piece));
  if (repeat == handlers::Repeat::told) return Done{};
  const auto inbox = schema::inbox_name(row.sender);
  TRY(auto written, tx.ledger.outbox().of_request(context_.name, inbox, row.request_id));
  auto answers = only_answers(std::move(written), row);
  if (answers.empty()) return file_again(context_, row, tx);
  tx.then([this, inbox, id = row.request_id] { outbox_.owed_again(inbox, id); });
  return tx.ledger.outbox().resend(std::move(answers), row.received_ms);
}

Status Receiver::apply(const handlers::ShutdownAnswered& answered, const BoxMessage&, MessageRow& row, Tx& tx,
                     Piece& piece) {
  seen(row, piece);
  TRY(auto found, tx.ledger.shutdowns().find(context_.name, answered.request_id));
  const auto old = found->state;  // recorded a moment ago, in this transaction
  auto after = handlers::after_answer(std::move(*found), answered, row.received_ms);
  if (!after) return Error{"ledger.final", "shutdown " + answered.request_id + " takes no further answer"};
  auto& shutdown = *after;
  TRY(tx.ledger.shutdowns().put(context_.name, shutdown));
  // The lead reads a refusal with the worker's reason; after a consent it is informed when all is done.
  row.disposition = answered.approved ? Disposition::control : Disposition::chat;
  if (!answered.approved) row.delivery = DeliveryState::queued;
  TRY(record(row, Event::message_accepted, tx, piece));
  tx.log(Event::shutdown_state, {{"team", context_.name},
                                 {"request_id", shutdown.request_id},
                                 {"member", shutdown.member},
                                 {"old", std::string(handlers::to_string(old))},
                                 {"new", std::string(handlers::to_string(shutdown.state))},
                                 {"reason", answered.answer}});
  tx.then([this, shutdown] { shutdowns_.answered(shutdown); });
  return Done{};
}

Status Receiver::leave(MessageRow& row, Disposition disposition, Tx& tx, Piece& piece) const {
  row.disposition = disposition;
  row.code = handlers::left_code;
  row.reason = handlers::left_reason(context_.membership);
  return record(row, Event::message_ignored, tx, piece);
}

Status Receiver::met_again(const BoxMessage& taken, Tx& tx, Piece& piece) const {
  if (!context_.may(Right::mark_answered) || taken.read) return Done{};
  TRY(const auto found, tx.ledger.messages().find(taken.key));
  if (!found) return Done{};
  const auto& row = *found;
  TRY(const auto by_rule, context_.may(Right::take) ? Result<bool>(false) : requests_.answered_by_rule(row.request_id, row.sender));
  const bool unsent = row.disposition == Disposition::chat && row.delivery == DeliveryState::none;
  const auto again = handlers::met_again(context_.membership, {row.code == handlers::left_code, unsent, by_rule});
  if (again == handlers::Again::ours_to_mark) piece.ours = true;
  if (again != handlers::Again::adopted) return Done{};
  tx.log(Event::message_accepted, {{"team", context_.name},
                                   {"inbox", row.inbox},
                                   {"from", row.sender},
                                   {"type", row.type},
                                   {"message_key", row.key.value},
                                   {"disposition", "queued"},
                                   {"reason", "was left to another lead, which did not read it"}});
  return tx.ledger.deliveries().adopt(row);
}

Status Receiver::record(MessageRow& row, Event event, Tx& tx, Piece& piece) const {
  // Keep all bytes of what the operator is shown; of other messages only what the fields do not say.
  const bool is_exact = row.disposition == Disposition::rejected || row.disposition == Disposition::malformed;
  if (is_exact || !piece.says_all) row.raw = piece.bytes;
  const bool is_plain = row.delivery == DeliveryState::queued && row.attempts == 0;  // as most are: queued by the batch
  TRY(const auto id, tx.ledger.messages().insert(row, is_plain ? DeliveryTable::Queued::later : DeliveryTable::Queued::now));
  if (is_plain) piece.queued[row.priority].push_back(id);
  // Chat and status that were accepted unchanged are by far the most, and their row records everything. A request has
  // its own line.
  if (event == Event::message_accepted && row.request_id.empty() && row.reason.empty())
    tx.log_told_by_row(event, accepted_fields(row));
  else
    tx.log(event, accepted_fields(row));
  return Done{};
}

const MemberRow* Receiver::last_known(const std::string& name, const Piece& piece) const {
  if (const auto now = piece.members.find(name); now != piece.members.end()) return &now->second;
  const auto before = context_.members.find(name);
  return before == context_.members.end() ? nullptr : &before->second;
}

/// Records activity of a present or former member; null for other accepted senders.
MemberRow* Receiver::seen(const MessageRow& row, Piece& piece) const {
  const auto known = context_.members.find(row.sender);
  if (known == context_.members.end()) return nullptr;
  auto& member = piece.members.try_emplace(row.sender, known->second).first->second;
  member.last_seen_ms = row.received_ms;
  if (place_ != handlers::Place::worker && handlers::is_said_to_lead(row.type)) {
    member.has_told = true;
    member.unsent.clear();
  }
  return &member;
}

}  // namespace inbox_poller::poller
