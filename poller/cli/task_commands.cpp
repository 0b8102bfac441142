// `tasks`: the task queue of a folder that agents share, for people: what stands where, and the dead letters.
#include <boost/json.hpp>
#include <memory>

#include "poller/cli/box_place.hpp"
#include "poller/cli/printable.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t short_id = 12;
constexpr std::size_t most_done = 20;  // of a list for people

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

ExitCode list(Context& context, const TaskOptions& options) {
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
    rows.push_back({printable(schema::identity_of(one.task).substr(0, short_id)),
                    late ? "late result" : std::string(place_name(one.place)), or_dash(printable(whose)),
                    or_dash(printable(what))});
  }
  if (context.json) return context.print_record(views);
  std::string text = rows.empty() ? std::string(options.dead ? "no dead letters\n" : "no tasks\n") : table(rows, "");
  if (done > most_done) text += "and " + std::to_string(done - most_done) + " more that are done (--json has all)\n";
  return context.print(text);
}

ExitCode show(Context& context, const TaskOptions& options) {
  const auto board = board_of(options);
  if (!board) return context.fail(board.error());
  const auto id = (*board)->tasks->whole_id(options.id);
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
  const auto id = (*board)->tasks->whole_id(options.id);
  if (!id) return context.fail(id.error());
  const auto task = (*board)->tasks->requeue(*id);
  if (!task) return context.fail(task.error());
  if (context.json) return context.print_record(operations::BoxTask{task->object()});
  return context.print(printable(*id) + " can be claimed again\n");
}

std::shared_ptr<TaskOptions> options_of(Context& context) {
  if (!context.task_options) context.task_options = std::make_shared<TaskOptions>();
  return std::static_pointer_cast<TaskOptions>(context.task_options);
}

}  // namespace

void declare_tasks(CLI::App& command, Context& context) {
  auto options = options_of(context);
  explain(command,
          "What stands where in the task queue of a folder that agents share (`inbox-poller box`). With --dead:\n"
          "what was handed out too often, what cannot be read, and results that came too late.\n\n"
          "Examples:\n  inbox-poller tasks --root scratch/coordination\n  inbox-poller tasks --dead\n"
          "  inbox-poller tasks requeue 0f3a9c21d4e8");
  add_box_root(command, options->place);
  command.add_flag("--dead", options->dead, "The dead letters, and why");
  command.require_subcommand(0, 1);
  command.callback([&command, &context, options] {
    if (command.get_subcommands().empty()) context.exit_code = list(context, *options);
  });
}

void declare_tasks_show(CLI::App& command, Context& context) {
  auto options = options_of(context);
  explain(command,
          "All that is known of a task, wherever it stands, and results that came too late.\n\n"
          "Example:\n  inbox-poller tasks show 0f3a9c21d4e8");
  command.add_option("ID", options->id, "The task's id, or how it begins")->required();
  command.callback([&context, options] { context.exit_code = show(context, *options); });
}

void declare_tasks_requeue(CLI::App& command, Context& context) {
  auto options = options_of(context);
  explain(command,
          "Puts a dead task back to where it can be claimed; its attempts are counted anew.\n\n"
          "Example:\n  inbox-poller tasks requeue 0f3a9c21d4e8");
  command.add_option("ID", options->id, "The task's id, or how it begins")->required();
  command.callback([&context, options] { context.exit_code = requeue(context, *options); });
}

}  // namespace inbox_poller::poller::cli
