// The command `top`: one loop for keys, signals and the daemon. top.cpp decides what they do.
#include <sys/types.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "poller/cli/command.hpp"
#include "poller/cli/loop.hpp"
#include "poller/cli/top/curses_screen.hpp"
#include "poller/cli/top/top_command.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller::cli {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds draw_again{1000};   // for ages

class TopLoop {
 public:
  TopLoop(Context& context, std::string socket, std::unique_ptr<CursesScreen> screen, Top::Options options)
      : context_(context),
        screen_(std::move(screen)),
        top_(std::move(options)),
        signals_(loop_, {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}, [this](int number) { obey(number); }),
        input_(loop_, context.console.in(), Descriptor::Kind::wait_read, [this] { typed_ = true; }),
        model_(loop_, {.where = [socket = std::move(socket)] { return socket; }, .team = context.team},
               [this](const auto& fresh) { return changed(fresh); }) {
    model_.watch({Part::requests, Part::status});
  }

  ExitCode run() {
    const auto ended = [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    };
    model_.start();
    asio::co_spawn(loop_, talk(), ended);
    auto draw_at = steady_clock::now();
    while (!left_ && !top_.over()) {
      screen_->draw(top_.frame(screen_->size(), now_ms()));
      input_.await();
      draw_at = steady_clock::now() + draw_again;
      loop_.run_one_until(draw_at);
      while (loop_.poll_one() > 0) {
      }
      // After the signals, because input typed while this process was stopped was for another program.
      if (!left_ && std::exchange(typed_, false)) read_keys();
    }
    screen_->leave();
    return left_.value_or(ExitCode::done);
  }

 private:
  /// Passes fresh parts of the model to the pages on the screen.
  asio::awaitable<void> changed(const std::vector<Part>& fresh) {
    if (const auto& away = model_.away()) top_.lost(*away);
    for (const TopPage page : {TopPage::requests, top_.page()})
      if (std::ranges::find(fresh, part_on(page)) != fresh.end()) top_.got(page, model_.known());
    if (std::ranges::find(fresh, Part::status) != fresh.end()) top_.got_teams(model_.known().status);
    if (top_.waits()) wake_.raise();
    co_return;
  }

  /// Sends requests one after the other.
  asio::awaitable<void> talk() {
    for (;;) {
      const auto seen = wake_.count();
      if (std::exchange(shown_, top_.page()) != top_.page()) {
        model_.watch({Part::requests, Part::status, part_on(top_.page())});
        model_.refresh();  // two pages may show one part
      }
      for (auto request = top_.take_request(); request; request = top_.take_request()) {
        auto asking =
            model_.exchange(std::visit([](const auto& asked) { return arguments::on_wire(asked); }, request->asked));
        const auto answer = co_await std::move(asking);
        top_.answered(*request, answer);
        model_.refresh();
      }
      co_await wake_.wait(seen, std::chrono::minutes(1));
    }
  }

  void read_keys() {
    const auto keys = screen_->keys();
    for (const TopKey& key : keys) {
      top_.press(key, now_ms());
      if (top_.over()) return;
    }
    if (!keys.empty()) wake_.raise();
    if (keys.empty() && ::isatty(context_.console.in()) == 0) left_ = ExitCode::failed;  // the terminal is gone
  }

  void obey(int number) {
    if (number == SIGTSTP) {
      screen_->leave();
      ::kill(::getpid(), SIGSTOP);
    } else if (number != SIGCONT && number != SIGWINCH) {
      left_ = ExitCode::done;
      return;
    }
    if (number != SIGWINCH) {  // another program used the terminal
      screen_->drop_typed();
      top_.hidden();
    }
    screen_->resized();
  }

  Context& context_;
  Signal wake_;  // outlives the loop, whose end destroys the waiting coroutine
  asio::io_context loop_{1};
  std::unique_ptr<CursesScreen> screen_;
  Top top_;
  Signals signals_;
  Descriptor input_;
  DaemonModel model_;
  TopPage shown_ = TopPage::requests;
  bool typed_ = false;
  std::optional<ExitCode> left_;
};

struct TopOptions {
  bool no_confirm = false;
};

ExitCode top(Context& context, const TopOptions& options) {
  return stay_at_terminal(context, {.by = {}, .confirm = !options.no_confirm});
}

}  // namespace

ExitCode stay_at_terminal(Context& context, Top::Options options) {
  if (context.json || ::isatty(context.console.in()) == 0 || ::isatty(context.console.out()) == 0)
    return context.fail(
        usage_error("this talks to a person at a terminal; for a program there is `inbox-poller pending --json`"));
  const auto socket = context.socket_path();
  if (!socket) return context.fail(socket.error());
  if (const auto first = context.ask(arguments::Pending()); !first && first.error().code != "team.absent")
    return context.fail(first.error());
  const char* refused = std::getenv("NO_COLOR");
  auto screen = CursesScreen::open(refused == nullptr || *refused == '\0');
  if (!screen) return context.fail(screen.error());
  options.by = user_name();
  return TopLoop(context, *socket, std::move(*screen), std::move(options)).run();
}

namespace {

// clang-format off
constexpr Argument top_takes[] = {
    takes<&TopOptions::no_confirm>("--no-confirm", "Do not ask back where all of one request is on the screen (after Enter): a approves it"),
};

constexpr Command top_rows[] = {
    {.name = "top", .group = Group::answer, .summary = "Answer requests by key on the terminal; see teams, workers and chat",
     .help = "Stays on the terminal and shows what goes on, as it changes: the open requests, teams, workers, chat, and\n"
             "who decided what. Keys: j and k or the arrows, Enter for all of a row, / for a filter, 1 to 5 for the\n"
             "pages, ? for the rest, q leaves. The second line sums up all teams. From 120 columns on all of the\n"
             "selected row is next to the list. Colors tell urgency and outcome (NO_COLOR: none); the mouse selects.\n\n"
             "a approves, A approves and adds the rule that covers it (shown before), d denies, D denies with a\n"
             "reason; Space marks several. Each asks back with all of what would be run, y is the yes. What was not\n"
             "shown to its end is not approved, and a key counts only for what has been in view for 400 ms.\n"
             "`inbox-poller pending --watch` is the same, with only the requests that its options choose.",
     .examples = "inbox-poller top\n"
                 "inbox-poller top --team demo",
     .arguments = top_takes, .work = runs<top>},
};
// clang-format on

}  // namespace

std::span<const Command> top_commands() { return top_rows; }

}  // namespace inbox_poller::poller::cli
