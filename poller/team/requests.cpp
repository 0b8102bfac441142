#include "poller/team/requests.hpp"

#include <algorithm>

#include "handlers/like.hpp"
#include "handlers/permission.hpp"
#include "handlers/request.hpp"
#include "handlers/request_block.hpp"
#include "handlers/request_kind.hpp"
#include "handlers/request_route.hpp"
#include "handlers/subject.hpp"
#include "poller/context/message_life.hpp"
#include "poller/team/request_view.hpp"

namespace inbox_poller::poller {
namespace {

using handlers::RequestEvent;
using handlers::RequestKind;
using handlers::Right;

/// Interval between checks if a worker accepts our answers again.
constexpr std::chrono::seconds look_again_every{30};

constexpr std::size_t most_early = 256;  // answers kept for requests that are still to come

}  // namespace

Status Requests::restore() {
  TRY(auto rows, context_.ledger.requests().open(context_.name));
  for (const auto& request : rows) opened(request);
  return Done{};
}

void Requests::opened(const handlers::Request& request, const std::string& folder) {
  if (request.deadline_ms == 0) {  // others must answer; we only report that nobody did
    const auto asked_for = std::chrono::milliseconds(std::max<EpochMs>(0, context_.clock.wall_ms() - request.asked_ms));
    const auto patience = handlers::traits_of(request.kind).timeout(context_.config);
    open_[name_of(request)] = {.request = request,
                                                 .deadline = context_.clock.steady() + patience - asked_for,
                                                 .folder = folder};
    return;
  }
  // A wall clock jump while the daemon was down must not set a deadline before now or beyond the timeout.
  const auto left = std::chrono::milliseconds(request.deadline_ms - context_.clock.wall_ms());
  const auto whole = std::chrono::milliseconds(request.deadline_ms - request.asked_ms);
  const auto bounded = std::clamp(left, std::chrono::milliseconds(0), whole);
  open_[name_of(request)] = {
      .request = request, .deadline = context_.clock.steady() + bounded, .folder = folder};
}

std::string Requests::folder_of(const handlers::Request& request) const {
  const auto found = open_.find(name_of(request));
  if (request.asker == context_.lead) return found == open_.end() ? std::string() : found->second.folder;
  const auto* member = context_.roster.find(request.asker);
  return member != nullptr ? member->cwd : std::string();
}

operations::OpenRequest Requests::view_of(const handlers::Request& request) {
  const auto folder = folder_of(request);
  const auto made = [&] {
    return open_view(context_.name, request, folder, handlers::parts_of(request, folder, context_.view()));
  };
  const auto found = open_.find(name_of(request));
  if (found == open_.end()) return made();
  auto& seen = found->second.seen;
  if (!seen || seen->rules != context_.rules.version() || seen->folder != folder ||
      seen->asked_ms != request.asked_ms || seen->deadline_ms != request.deadline_ms)
    seen = {context_.rules.version(), folder, request.asked_ms, request.deadline_ms, made()};
  return seen->view;
}

void Requests::run_due() {
  const auto now = context_.clock.steady();
  const bool ours_to_answer = context_.may(Right::answer_by_time);
  begin_to_answer(ours_to_answer);
  std::vector<Wanted> due;
  for (auto& [id, open] : open_) {
    const bool may_end = open.request.deadline_ms == 0 || open.deadline <= now;
    const bool ours = ours_to_answer && !(may_end && is_refused(open));
    if (ours && open.request.deadline_ms == 0) {
      adopt(open);
      unanswered_.erase(id);
    }
    if (open.request.asker != context_.lead && context_.has_left(open.request.asker)) {
      const handlers::Answer answer{.event = RequestEvent::asker_leaves, .by = "roster"};
      due.push_back({this, open.request, answer});
    } else if (is_handed_over(open.request)) {
      continue;  // its node puts it again if it is still open
    } else if (open.deadline <= now && !ours && open.request.asker != context_.lead) {
      if (!unanswered_.contains(id) && tell_unanswered(open.request)) unanswered_.insert(id);
    } else if (open.deadline <= now) {
      const handlers::Answer answer{.event = RequestEvent::deadline_passes, .by = "deadline"};
      due.push_back({this, open.request, answer});
    } else {
      tell(open);
    }
  }
  static_cast<void>(answer_all(context_.ledger, due));  // a fault is retried next tick
}

void Requests::begin_to_answer(bool ours) {
  if (std::exchange(was_ours_, ours) != ours && ours) static_cast<void>(judge_again());
}

bool Requests::is_refused(Open& open) const {
  const bool is_word = handlers::is_verified(open.request.kind, RequestEvent::deadline_passes);
  const auto now = context_.clock.steady();
  const bool looks = !open.not_ours || open.look_again <= now;
  // A roster that is just being rewritten may miss the asker.
  if (looks && is_word && context_.roster.find(open.request.asker) != nullptr) {
    open.not_ours = !context_.answer_authority(open.request.asker).counts();
    open.look_again = now + look_again_every;
  }
  if (open.not_ours) open.request.deadline_ms = 0;
  return open.not_ours;
}

void Requests::ended(const std::string& asker, EpochMs at_ms, EpochMs next_joined_ms, const std::string& why) {
  const handlers::Answer answer{.event = RequestEvent::asker_leaves, .by = "shutdown", .reason = why};
  std::vector<Wanted> withdrawn;
  for (const auto* request : oldest_first())
    if (request->asker == asker && request->asked_ms <= at_ms &&
        (next_joined_ms == 0 || request->joined_ms != next_joined_ms))
      withdrawn.push_back({this, *request, answer});
  static_cast<void>(answer_all(context_.ledger, withdrawn));
}

void Requests::adopt(Open& open) {
  const auto span = handlers::traits_of(open.request.kind).timeout(context_.config);
  auto ours = open.request;
  ours.deadline_ms = context_.clock.wall_ms() + span.count();
  const auto kept = context_.commit([&](Tx& tx) { return tx.ledger.requests().put(context_.name, ours); });
  if (!kept) return;  // tried again by the next poll
  open.request = std::move(ours);
  open.deadline = context_.clock.steady() + span;
}

void Requests::tell(Open& open) {
  // Without our deadline another lead answers, and that lead reads the request in its inbox.
  if (open.request.deadline_ms == 0 || !context_.may(Right::ask_person)) return;
  const auto view = context_.view();
  const bool leads = context_.may(Right::notify_lead);
  if (leads && !open.lead_knows && handlers::asks_lead(open.request, view)) {
    const auto told = context_.commit([&](Tx& tx) -> Status { return put_before_lead(open.request, tx); });
    open.lead_knows = static_cast<bool>(told);  // or the next tick tries again
  }
  if (!open.person_knows && handlers::asks_person(open.request, view))
    open.person_knows = notifier_.asked(open.request);
}

Status Requests::put_before_lead(const handlers::Request& pending, Tx& tx) {
  const auto view = context_.view();
  // Without a deadline neither we nor the session that we speak for may answer.
  if (!context_.may(Right::notify_lead) || pending.deadline_ms == 0 || !handlers::asks_lead(pending, view))
    return Done{};
  const auto type = handlers::request_type(pending.kind);
  TRY(const auto there, tx.ledger.messages().about(context_.name, pending.asker, pending.request_id, type));
  if (there) return Done{};
  TRY(tx.notify_lead({handlers::request_notice(pending, view, context_.clock.wall_ms()), pending.asker, type,
                      pending.request_id, Priority::urgent}));
  return Done{};
}

Status Requests::close_before_lead(const handlers::Request& decided, Tx& tx) {
  TRY(const auto row, tx.ledger.messages().about(context_.name, decided.asker, decided.request_id,
                                                 handlers::request_type(decided.kind)));
  if (!row) return Done{};
  const auto& block = *row;
  const auto now = context_.clock.wall_ms();
  if (block.delivery == DeliveryState::queued) {
    tx.log(Event::delivery_expired, {{"team", context_.name},
                                     {"message_key", block.key.value},
                                     {"from", block.sender},
                                     {"method", block.method},
                                     {"reason", "the request was decided before the lead got it"}});
    TRY(tx.ledger.deliveries().mark_expired({block.id}, now));
  }
  const bool lead_decided = decided.decided_by == context_.lead && (decided.state == handlers::RequestState::approved ||
                                                                    decided.state == handlers::RequestState::denied);
  if (block.attempts == 0 || lead_decided) return Done{};  // never leased, so never read
  TRY(tx.notify_lead({handlers::closed_notice(decided, context_.view(), now), decided.asker,
                      std::string(handlers::closed_type), decided.request_id, Priority::chat}));
  return Done{};
}

void Requests::answered_early(const handlers::RequestName& name, const std::string& timestamp,
                              handlers::Answer answer) {
  early_[name] = {timestamp, std::move(answer)};
  const auto older = [](const auto& one, const auto& other) { return one.second.first < other.second.first; };
  if (early_.size() > most_early) early_.erase(std::min_element(early_.begin(), early_.end(), older));
}

std::optional<handlers::Answer> Requests::early_answer(const handlers::RequestRef& ref, const std::string& asker,
                                                       const std::string& asked_at) const {
  if (early_.empty() || asked_at.empty()) return std::nullopt;  // without a time, any answer could be an older one
  const auto found = early_.find({ref.kind, asker, ref.request_id});
  if (found == early_.end() || found->second.first < asked_at) return std::nullopt;  // of an earlier use of the id
  return found->second.second;
}

bool Requests::tell_unanswered(const handlers::Request& request) {
  const auto told = context_.commit([&](Tx& tx) {
    tx.log(Event::request_unanswered,
           {{"team", context_.name},
            {"request_id", request.request_id},
            {"message_key", request.message.value},
            {"type", std::string(handlers::to_string(request.kind))},
            {"from", request.asker},
            {"subject", handlers::subject_of(request)},
            {"latency_ms", std::to_string(std::max<EpochMs>(0, context_.clock.wall_ms() - request.asked_ms))},
            {"reason", "the worker's own lead has not answered; the worker still waits"}});
  });
  return told.ok();
}

const handlers::Request* Requests::find(const handlers::RequestName& name) const {
  const auto found = open_.find(name);
  return found == open_.end() ? nullptr : &found->second.request;
}

Result<bool> Requests::answered_by_rule(const std::string& request_id, const std::string& asker) const {
  if (request_id.empty()) return false;
  TRY(const auto requests, context_.ledger.requests().by_id(request_id));
  return std::any_of(requests.begin(), requests.end(), [&](const auto& item) {
    return item.first == context_.name && item.second.asker == asker && item.second.decided_by == "rule";
  });
}

Result<bool> Requests::answered_by_rule(const schema::MessageKey& key) const {
  TRY(const auto row, context_.ledger.messages().find(key));
  return row ? answered_by_rule(row->request_id, row->sender) : Result<bool>(false);
}

std::vector<handlers::Request> Requests::judge_again() {
  std::vector<Wanted> ruled;
  for (const auto* request : oldest_first()) {
    const auto verdict = handlers::ruled(*request, folder_of(*request), context_.view());
    if (!verdict) continue;
    const bool allows = verdict->action == config::Action::allow;
    const handlers::Answer answer{.event = allows ? RequestEvent::rule_allows : RequestEvent::rule_denies,
                                  .by = "rule",
                                  .reason = handlers::reason_of(*verdict)};
    ruled.push_back({this, *request, answer});
    ruled.back().request.rule = verdict->rule;
  }
  std::vector<handlers::Request> answered;
  for (auto& outcome : answer_all(context_.ledger, ruled))
    if (auto* taken = std::get_if<Applied>(&outcome)) answered.push_back(std::move(taken->request));
  return answered;
}

std::vector<Requests::Outcome> Requests::answer_all(Ledger& ledger, const std::vector<Wanted>& wanted) {
  std::vector<std::variant<Decision, Refusal>> decisions;
  for (const auto& one : wanted) decisions.push_back(one.team->decide(one));
  std::vector<Unit> units;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto* decision = std::get_if<Decision>(&decisions[i]);
    if (decision == nullptr) continue;
    Requests& team = *wanted[i].team;
    units.emplace_back(team.context_, [&team, &one = wanted[i], decision](Tx& tx) { return team.record(one, *decision, tx); });
  }
  if (!units.empty()) commit_together(ledger, units);
  std::vector<Outcome> outcomes;
  auto unit = units.begin();
  for (auto& one : decisions) {
    if (auto* refused = std::get_if<Refusal>(&one)) {
      outcomes.emplace_back(std::move(*refused));
    } else if (const auto& status = unit++->status; !status) {
      outcomes.emplace_back(Refusal{status.error().code, status.error().message});
    } else {
      auto& [made, rule] = std::get<Decision>(one);
      outcomes.emplace_back(Applied{std::move(made.request), rule ? rule->rule : std::string()});
    }
  }
  return outcomes;
}

std::optional<Requests::Refusal> Requests::not_here(const handlers::Request& request, RequestEvent event) const {
  if (event == RequestEvent::answered_by_other || event == RequestEvent::asker_leaves) return std::nullopt;
  if (led_elsewhere())
    return Refusal{"role.not_leader",
                   "this node does not lead, and the node that leads answers it: `inbox-poller nodes`"};
  if (!is_handed_over(request)) return std::nullopt;
  return Refusal{"request.elsewhere",
                 "another node led since this was asked and may have decided it; if not, the node of " + request.asker +
                     " asks again: `inbox-poller nodes`"};
}

std::variant<Requests::Decision, Requests::Refusal> Requests::decide(const Wanted& wanted) const {
  const auto& [team, request, answer, always] = wanted;
  if (auto refused = not_here(request, answer.event)) return *std::move(refused);
  const bool is_word = handlers::is_verified(request.kind, answer.event);
  const auto authority = is_word ? context_.answer_authority(request.asker) : handlers::AnswerAuthority{};
  auto outcome = handlers::decide(request, answer, context_.view(), context_.clock.wall_ms(), authority);
  if (const auto* refused = std::get_if<handlers::NotTaken>(&outcome)) return *refused;
  Decision decision{std::get<handlers::Decided>(std::move(outcome)), {}};
  // No message of ours carries the input to the lead, so the record must.
  if (request.asker == context_.lead && !answer.updated_input.empty()) decision.made.request.body = answer.updated_input;
  auto session = rule_of(request, answer, always);
  if (const auto* refused = std::get_if<Refusal>(&session)) return *refused;
  decision.rule = std::get<std::optional<SessionRule>>(std::move(session));
  return decision;
}

Status Requests::record(const Wanted& wanted, Decision& decision, Tx& tx) {
  const auto& decided = decision.made.request;
  tx.then([this, &decision] { close(decision); });
  TRY(const auto batch, tx.ledger.next_batch());
  TRY(tx.ledger.requests().put(context_.name, decided));
  tx.post(decision.made.posts, decided.request_id, batch);
  const auto waited = std::max<EpochMs>(0, decided.decided_ms - wanted.request.asked_ms);
  auto fields = request_fields(context_.name, decided, handlers::to_string(wanted.request.state));
  fields.emplace_back("latency_ms", std::to_string(waited));
  tx.log(Event::request_decided, std::move(fields));
  TRY(close_before_lead(decided, tx));
  auto& rule = decision.rule;
  if (!rule) return Done{};
  TRY(const auto known, tx.ledger.rules().of_team(context_.name));
  const auto is_same = [&](const SessionRule& other) {
    return other.session == rule->session && other.kind == rule->kind && other.action == rule->action &&
           other.rule == rule->rule;
  };
  if (std::any_of(known.begin(), known.end(), is_same)) {  // another answer of this transaction added the rule
    rule.reset();
    return Done{};
  }
  tx.log(Event::rule_added, {{"team", context_.name},
                             {"request_id", decided.request_id},
                             {"type", std::string(to_string(rule->kind))},
                             {"action", rule->action},
                             {"rule", rule->rule},
                             {"by", rule->by}});
  TRY(const auto added, tx.ledger.rules().add(*rule));
  rule->id = added;
  return Done{};
}

void Requests::close(const Decision& decision) {
  const auto& decided = decision.made.request;
  open_.erase(name_of(decided));
  unanswered_.erase(name_of(decided));
  if (decision.rule) context_.rules.apply(*decision.rule);
  notifier_.decided(decided);
  if (decided.kind == RequestKind::stop && decided.state == handlers::RequestState::approved)
    granted_stops_.push_back(decided);
}

std::variant<std::optional<SessionRule>, Requests::Refusal> Requests::rule_of(const handlers::Request& request,
                                                                              const handlers::Answer& answer,
                                                                              bool always) const {
  const auto& kind = handlers::traits_of(request.kind);
  if (kind.rule == nullptr && always)
    return Refusal{"rule.none_safe", "no rule covers a request of this kind: approve it without --always"};
  if (kind.rule == nullptr) return std::nullopt;
  auto made = kind.rule(request, answer, always, context_.view());
  if (const auto* refused = std::get_if<handlers::NotTaken>(&made)) return *refused;
  const auto& wanted = std::get<std::optional<handlers::NewRule>>(made);
  if (!wanted) return std::nullopt;
  SessionRule rule;
  rule.team = context_.name;
  rule.session = context_.roster.lead_session_id;
  rule.kind = wanted->kind;
  rule.action = answer.event == RequestEvent::person_approves ? "allow" : "deny";
  rule.rule = wanted->text;
  rule.by = answer.by;
  rule.at_ms = context_.clock.wall_ms();
  if (context_.rules.has(rule)) return std::nullopt;
  return rule;
}

std::vector<const handlers::Request*> Requests::oldest_first() const {
  std::vector<const handlers::Request*> requests;
  for (const auto& [id, open] : open_) requests.push_back(&open.request);
  std::stable_sort(requests.begin(), requests.end(), [](const auto* a, const auto* b) { return a->asked_ms < b->asked_ms; });
  return requests;
}

bool Requests::is_handed_over(const handlers::Request& request) const {
  const auto rows = context_.ledger.node_mail().of_request(request.request_id, 20);
  bool found = false;
  if (!rows) return found;
  for (const auto& row : *rows) {
    if (row.team != context_.name || row.direction != MailDirection::in || !row.lead || row.sender != request.asker)
      continue;
    if (row.attempts == 0) return false;
    found = true;
  }
  return found;
}

std::vector<const handlers::Request*> Requests::shown() const {
  if (led_elsewhere()) return {};
  auto requests = oldest_first();
  std::erase_if(requests, [this](const auto* request) { return is_handed_over(*request); });
  return requests;
}

std::vector<handlers::Request> Requests::open() const {
  std::vector<handlers::Request> requests;
  for (const auto* request : oldest_first()) requests.push_back(*request);
  return requests;
}

std::uint32_t Requests::pending_of(const std::string& asker) const {
  return static_cast<std::uint32_t>(
      std::count_if(open_.begin(), open_.end(), [&](const auto& item) { return item.second.request.asker == asker; }));
}

}  // namespace inbox_poller::poller
