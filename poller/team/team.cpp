#include "poller/team/team.hpp"

#include <utility>

#include "handlers/orders.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

std::unique_ptr<ClusterMember> open_cluster(Runtime& services, TeamState& context, const OpenTeam& boxes) {
  if (!context.config.cluster.is_set()) return nullptr;
  auto broker = services.open_broker
                      ? services.open_broker(context.config)
                      : Result<std::unique_ptr<Broker>>(Error{"redis.missing", "this build was made without Redis"});
  if (broker)
    return std::make_unique<ClusterMember>(context, boxes.mailbox, boxes.members, *std::move(broker), "");
  return std::make_unique<ClusterMember>(context, boxes.mailbox, boxes.members, nullptr, broker.error().message);
}

}  // namespace

Team::Team(Runtime& services, const config::TeamConfig& config, const std::string& name)
    : Team(services, config, name,
           system_of(config).open(services.files, services.clock, services.pool, config, name, services.state_dir)) {}

Team::Team(Runtime& services, const config::TeamConfig& config, std::string name, OpenTeam boxes)
    : since_ms(services.clock.wall_ms()),
      services_(services),
      context_(name, config, services.home, services.ledger, services.telemetry, services.clock),
      boxes_(std::move(boxes)),
      cluster_(open_cluster(services, context_, boxes_)),
      parts_(services, context_, mailbox(), members(), boxes_),
      role_keeper_(context_, mailbox(), cluster_.get(), parts_.requests, parts_.delivery, services.files,
                services.processes),
      roster_(context_, members()),
      lead_boxes_(services, context_, mailbox(), parts_, role_keeper_, chat_),
      pace_(services.executor, services.clock) {
  context_.workers = &services.workers;
  context_.changes = &services.changes;
  mailbox().subscribe([this] { notify(); });
  lead_boxes_.look_at_roster([this] { roster_.look_ahead(); });
  if (!cluster_) return;
  between_nodes_.reset(
      new BetweenNodes{{context_, *cluster_, parts_.shutdowns}, {context_, *cluster_, parts_.requests}});
  context_.guard = [this] {
    return context_.membership.role == handlers::EffectiveRole::leader ? cluster_->may_decide() : Status(Done{});
  };
  cluster_->subscribe([this] { notify(); });
}

Status Team::restore() {
  static_cast<void>(mailbox().ready_boxes());  // the first scan also removes files that a killed daemon left half
                                               // written
  TRY(context_.restore());
  if (cluster_) TRY(cluster_->restore());
  TRY(roster_.restore());
  return parts_.restore();
}

Status TeamParts::restore() {
  TRY(requests.restore());
  TRY(notifier.restore());
  TRY(shutdowns.restore());
  TRY(rule_grants.restore());
  TRY(orders.restore());
  TRY(outbox.restore());
  return delivery.restore();
}

asio::awaitable<bool> Team::jobs(std::function<bool()> given_up) {
  const bool requests = co_await parts_.notifier.jobs().run_next(given_up);
  const bool tasks = co_await parts_.tasks.jobs().run_next(std::move(given_up));
  co_return requests || tasks;
}

bool Team::something_waits() {
  if (parts_.notifier.jobs().size() + parts_.tasks.jobs().size() > 0) return true;
  return !no_chat_.check(services_.ledger.chat_changes(), [&] {
    const auto queued = services_.ledger.deliveries().anything_queued(context_.name);
    return queued && !*queued;
  });
}

void Team::wake() {
  pace_.wake();
  chat_.raise();
}

Status Team::resume() {
  TRY(role_keeper_.resume());
  wake();
  return Done{};
}

void Team::reconfigure(const config::TeamConfig& config) {
  context_.reconfigure(config);
  context_.changed(all_areas);
  roster_.read_again();
  role_keeper_.forget_claim();
  wake();
}

void Team::retire() {
  retired_ = true;
  context_.changed(all_areas);
  parts_.delivery.recall();
  if (cluster_) cluster_->wake();
  wake();
}

Result<schema::MessageKey> Team::send(const std::string& to, const std::string& text, const std::string& summary,
                                      bool to_all) {
  if (const auto nobody = handlers::why_no_worker(to, context_.view())) return error_of(*nobody);
  if (context_.roster.find(to)->status == schema::ended_status)
    return Error{"member.ended", to + " has shut down, as its roster says: its inbox is not read any more"};
  const auto now = services_.clock.wall_ms();
  schema::Message message{context_.lead, text, summary, schema::iso_timestamp(now), {}, {}, to_all};
  OutboxRow row{.team = context_.name, .inbox = schema::inbox_name(to), .created_ms = now, .next_ms = now};
  TRY(context_.commit([&](Tx& tx) -> Status {
    TRY(const auto batch, tx.ledger.next_batch());
    row.batch = batch;
    // Peers treat two equal texts to one worker in the same millisecond as one message.
    message.id = schema::uuid_from(context_.name + "\n" + to + "\n" + std::to_string(batch));
    row.key = schema::make_message_key({context_.name, row.inbox}, message.from, message.timestamp, text, 0);
    row.message = message;
    tx.then([&] { context_.told[to] = now; });
    return tx.ledger.outbox().enqueue(row);
  }));
  wake();
  return row.key;
}

Status Team::heard_of(const std::string& member, handlers::WorkerReport state, const std::string& task) {
  const auto known = context_.members.find(member);
  if (known == context_.members.end() || !known->second.present || member == context_.lead) return Done{};
  MemberRow row = known->second;
  row.state = state;
  row.detail = task.empty() ? "" : "task " + task;
  if (!task.empty()) row.task = task;
  row.last_seen_ms = services_.clock.wall_ms();
  return context_.commit([&](Tx& tx) {
    tx.keep(tx.ledger.members().put(row));
    tx.then([&] { context_.members[member] = row; });
  });
}

}  // namespace inbox_poller::poller
