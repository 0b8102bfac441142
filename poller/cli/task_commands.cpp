// `tasks`: the task queue of a shared folder or Redis, for people: the state of each task, and the dead letters.
#include <boost/json.hpp>
#include <memory>

#include "poller/cli/box_place.hpp"
#include "poller/cli/printable.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t shown_id_length = 12;
constexpr std::size_t most_done = 20;  // rows of a list for people

struct TaskOptions {
  BoxPlace place;
  std::string id;
  bool dead = false;
};

std::string_view place_name(TaskPlace place) {
  switch (place) {
    case TaskPlace::open: return "open";
    case TaskPlace::claimed: return "claimed";
    case TaskPlace::done: return "done";
    case TaskPlace::dead: return "dead";
    case TaskPlace::given_back: break;
  }
  return "being given back";
}

json::object view_of(const TaskFile& one) {
  json::object view = one.task.object();
  view["place"] = place_name(one.place);
  view["file"] = one.name;
  if (!one.holder.empty()) view["holder"] = one.holder;
  return view;
}

Result<std::unique_ptr<TaskBoard>> board_of(const TaskOptions& options) {
  TRY(const auto path, options.place.path());
  return open_tasks(path);
}

ExitCode list_tasks(Context& context, const TaskOptions& options) {
  const auto board = board_of(options);
  if (!board) return context.fail(board.error());
  const auto all = (*board)->tasks->all();
  if (!all) return context.fail(all.error());
  operations::BoxTasks views;
  std::vector<Row> rows;
  std::size_t done = 0;
  for (const TaskFile& one : *all) {
    if (options.dead != (one.place == TaskPlace::dead)) continue;
    if (context.json) views.tasks.push_back(view_of(one));
    if (one.place == TaskPlace::done && ++done > most_done) continue;
    const bool late = one.task.text("status") == "late";
    const std::string what = options.dead ? one.task.text("dead_reason") : one.task.text("type");
    const std::string whose = one.holder.empty() ? one.task.text("owner") : one.holder;
    rows.push_back({printable(schema::identity_of(one.task).substr(0, shown_id_length)),
                    late ? "late result" : std::string(place_name(one.place)), or_dash(printable(whose)),
                    or_dash(printable(what))});
  }
  if (context.json) return context.print_record(views);
  std::string text = rows.empty() ? std::string(options.dead ? "no dead letters\n" : "no tasks\n") : table(rows, "");
  if (done > most_done) text += "and " + std::to_string(done - most_done) + " more that are done (--json has all)\n";
  return context.print(text);
}

ExitCode show_one(Context& context, const TaskOptions& options) {
  const auto board = board_of(options);
  if (!board) return context.fail(board.error());
  const auto id = (*board)->tasks->whole_id(options.id, {});
  if (!id) return context.fail(id.error());
  const auto all = (*board)->tasks->all();
  if (!all) return context.fail(all.error());
  operations::BoxTasks views;
  std::string text;
  for (const TaskFile& one : *all) {
    if (schema::identity_of(one.task) != *id) continue;
    views.tasks.push_back(view_of(one));
    text += (text.empty() ? "" : "\n") + std::string(place_name(one.place)) +
            (one.holder.empty() ? "" : " by " + printable(one.holder)) + ", file " + printable(one.name) + '\n' +
            box_text(one.task.object());
  }
  return context.json ? context.print_record(views) : context.print(text);
}

ExitCode requeue(Context& context, const TaskOptions& options) {
  const auto board = board_of(options);
  if (!board) return context.fail(board.error());
  const auto id = (*board)->tasks->whole_id(options.id, {});
  if (!id) return context.fail(id.error());
  const auto task = (*board)->tasks->requeue(*id);
  if (!task) return context.fail(task.error());
  if (context.json) return context.print_record(operations::BoxTask{task->object()});
  return context.print(printable(*id) + " can be claimed again\n");
}

// clang-format off
constexpr Argument tasks_takes[] = {
    takes_each<&TaskOptions::place, box_root>(),
    takes<&TaskOptions::dead>("--dead", "The dead letters, and why"),
};
constexpr Argument one_task[] = {takes<&TaskOptions::id>("ID", "The task's id, or how it begins").required()};

constexpr Command task_rows[] = {
    {.name = "tasks", .group = Group::look, .summary = "Show the task queue of a folder that agents share, not a team's board",
     .help = "Lists the task queue of a folder that agents share (`inbox-poller mailbox`). With --dead it lists tasks\n"
             "that were handed out too often, files that cannot be read, and results that came too late. The board of a\n"
             "team that a lead serves is a folder of files instead: inbox-poller assign.",
     .examples = "inbox-poller tasks --root scratch/coordination\n"
                 "inbox-poller tasks --dead\n"
                 "inbox-poller tasks requeue 0f3a9c21d4e8",
     .arguments = tasks_takes, .work = runs<list_tasks>, .prints = operations::shapes<operations::BoxTasks>},
    {.name = "tasks show", .group = Group::look, .summary = "Show all that is known of a task",
     .help = "All that is known of a task, wherever it stands, and results that came too late.",
     .examples = "inbox-poller tasks show 0f3a9c21d4e8",
     .arguments = one_task, .work = runs<show_one>, .prints = operations::shapes<operations::BoxTasks>},
    {.name = "tasks requeue", .group = Group::look, .summary = "Put a dead task back to where it can be claimed",
     .help = "Puts a dead task back to where it can be claimed; its attempts are counted from zero.",
     .examples = "inbox-poller tasks requeue 0f3a9c21d4e8",
     .arguments = one_task, .work = runs<requeue>, .prints = operations::shapes<operations::BoxTask>},
};
// clang-format on

}  // namespace

std::span<const Command> task_commands() { return task_rows; }

}  // namespace inbox_poller::poller::cli
