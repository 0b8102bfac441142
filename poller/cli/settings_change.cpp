#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "poller/cli/settings_change.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <climits>
#include <utility>

#include "poller/child.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

/// Returns the output of `diff -u`, or a line that says that the difference cannot be shown.
std::string difference(const Settings& settings, const std::string& after) {
  const std::string path = settings.path().string();
  ChildCommand diff;
  diff.argv = {"diff", "-u", "--text", "--label", path, "--label", path, settings.text ? path : "/dev/null", "-"};
  diff.input = after;
  diff.environment = {{"LC_ALL", "C"}};
  diff.most_output = std::size_t{16} << 20;
  boost::asio::io_context loop;
  std::string shown;
  const auto compare = [&]() -> boost::asio::awaitable<void> {
    auto running = run_child(std::move(diff));
    const auto result = co_await std::move(running);
    shown = result && result->exit_code == 1 && !result->timed_out && !result->output.empty()
                ? result->output
                : path + ": what would change cannot be shown; that needs the program `diff`\n";
  };
  boost::asio::co_spawn(loop, compare(), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  loop.run();
  return shown;
}

/// A result: the change made, or why none was made.
struct Outcome {
  std::string diff;
  bool changed = false;
  std::string text;
};

ExitCode told(Context& context, const Settings& settings, const SettingsChange& change, const Outcome& outcome) {
  if (!context.json) return context.print(outcome.text + (change.more.empty() ? "" : "\n" + change.more) + '\n');
  operations::SettingsChanged all = change.also;
  all.path = settings.path().string();
  all.changed = outcome.changed;
  all.diff = outcome.diff;
  return context.print_record(all);
}

}  // namespace

ExitCode change_settings(Context& context, const SettingsChange& change) {
  PosixFileSystem files;
  const auto settings = read_settings(files, change.file);
  if (!settings) return context.fail(settings.error());
  const std::string path = settings->path().string();
  if (const Status allowed = change.allowed(path); !allowed) return context.fail(allowed.error());
  const auto text = change.change(*settings);
  if (!text) return context.fail({text.error().code, path + ": " + text.error().message});
  if (*text == settings->text)
    return told(context, *settings, change, {"", false, printable(path) + ": nothing to change"});
  const std::string diff = difference(*settings, text->value_or(""));
  if (!context.json) {
    if (const ExitCode shown = context.print(printable_block(diff, "")); shown != ExitCode::done) return shown;
  }
  if (!change.yes && !context.console.confirm("Write this to " + printable(path) + "?"))
    return context.fail({"settings.unchanged", path + " was not changed; --yes writes without asking"});
  const auto again = read_settings(files, change.file);
  if (!again) return context.fail(again.error());
  if (again->text != settings->text)
    return context.fail(
        settings_fault(path, "another program changed it in the meantime; nothing was written, try again"));
  if (const Status written = write_settings(files, *settings, *text); !written.ok())
    return context.fail(written.error());
  const std::string done =
      printable(path) + (*text ? ": written" : ": removed, since nothing else was in it") +
      (settings->text ? "; what was there is in " + printable(path) + std::string(backup_ending) : "");
  return told(context, *settings, change, {diff, true, done});
}

Result<std::string> program_path() {
  std::error_code problem;
#ifdef __APPLE__
  char buffer[PATH_MAX];
  std::uint32_t size = sizeof buffer;
  const fs::path found = ::_NSGetExecutablePath(buffer, &size) == 0 ? fs::canonical(buffer, problem) : fs::path();
#else
  const fs::path found = fs::read_symlink("/proc/self/exe", problem);
#endif
  if (problem || found.empty()) return Error{"settings.unusable", "the path of this program cannot be found out"};
  return found.string();
}

}  // namespace inbox_poller::poller::cli
