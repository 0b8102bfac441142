// The parts of a team's service. Each part knows only the parts that are declared before it.
#pragma once

#include "poller/broker/broker.hpp"
#include "poller/changes.hpp"
#include "poller/context/group_commit.hpp"
#include "poller/context/team_state.hpp"
#include "poller/delivery/delivery.hpp"
#include "poller/effects/outbox.hpp"
#include "poller/mailbox/mailbox.hpp"
#include "poller/mailbox/roster_store.hpp"
#include "poller/systems/mailbox_system.hpp"
#include "poller/team/maintenance.hpp"
#include "poller/team/notifier.hpp"
#include "poller/team/orders.hpp"
#include "poller/team/plan_reminders.hpp"
#include "poller/team/quarantine.hpp"
#include "poller/team/requests.hpp"
#include "poller/team/shutdowns.hpp"
#include "poller/team/rule_grants.hpp"
#include "poller/team/task_keeper.hpp"
#include "poller/team/unsent_reports.hpp"
#include "poller/team/worker_boxes.hpp"
#include "poller/team/worker_calls.hpp"

namespace inbox_poller::poller {

/// Dependencies that all teams share. Outlives every Team.
struct Runtime {
  FileSystem& files;
  Ledger& ledger;
  Telemetry& telemetry;
  const Clock& clock;
  GroupCommit& commits;
  Quarantine& quarantine;
  Processes& processes;
  boost::asio::any_io_executor executor;  // of the decision thread
  boost::asio::thread_pool& pool;         // for reads of big files
  std::string home;
  std::string state_dir = {};  // folder of the ledger and of backend files beside it
  Changes changes{clock.wall_ms()};
  WorkerProcesses workers{processes, clock};
  /// Opens the connection to other nodes, for a team with [cluster]. An error gives the reason why there is none.
  std::function<Result<std::unique_ptr<Broker>>(const config::TeamConfig&)> open_broker = {};
  /// Opens the panes of the tmux server that this command reaches.
  std::function<std::unique_ptr<Panes>(std::vector<std::string> command)> open_panes =
      [&ours = processes](std::vector<std::string> command) {
        return std::make_unique<TmuxPanes>(std::move(command), ours);
      };
};

/// Answers to the hooks of workers.
struct WorkerHooks {
  WorkerCalls calls;
  UnsentReports unsent_reports;
};

struct TeamParts {
  TeamParts(Runtime& services, TeamState& context, Mailbox& mailbox, RosterStore& members, const OpenTeam& team)
      : notifier(context),
        requests(context, notifier),
        outbox(context, mailbox, services.commits),
        panes(services.open_panes(context.config.shutdown.tmux)),
        lead_panes(services.open_panes(context.config.delivery.tmux.command)),
        delivery(context, services.files, *lead_panes),
        shutdowns(context, mailbox, members, team.board.get(), *panes, services.processes),
        worker_hooks{{context, *panes, services.processes}, UnsentReports(context)},
        rule_grants(context, requests, shutdowns),
        orders(context),
        plan_reminders(context),
        tasks(context, team.tasks.get()),
        worker_boxes(context, mailbox, requests, outbox),
        housekeeping(context, mailbox, requests, shutdowns, services.executor) {}

  Status restore();

  Notifier notifier;
  Requests requests;
  Outbox outbox;
  std::unique_ptr<Panes> panes;       // of workers
  std::unique_ptr<Panes> lead_panes;  // of the lead
  Delivery delivery;
  Shutdowns shutdowns;
  WorkerHooks worker_hooks;
  RuleGrants rule_grants;
  Orders orders;
  PlanReminders plan_reminders;
  TaskKeeper tasks;
  WorkerBoxes worker_boxes;
  Maintenance housekeeping;
};

}  // namespace inbox_poller::poller
