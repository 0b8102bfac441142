// What programs of the operator are told beside the polls (person.notify, tasks.on_done): one program at a time, and
// each errand again after a failure. What was told stands in the history, so a restart
// tells nothing twice but what a kill left between a program's end and the record of it. Invariants: nothing waits for
// a program; exit 0 alone says that it was told; what it does or fails to do changes nothing else.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "poller/context/team_state.hpp"

namespace inbox_poller::poller {

/// Something to be told.
class Errand {
 public:
  /// As the configuration has it now; a reload may have taken it away (`argv` is empty).
  struct Program {
    std::string_view setting;
    const std::vector<std::string>& argv;
    config::Duration timeout;
  };
  Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  virtual ~Errand() = default;

  [[nodiscard]] virtual Program program() const = 0;
  /// What the program reads; nothing when there is nothing to tell (any more). On an error it is asked again.
  [[nodiscard]] virtual Result<std::optional<boost::json::object>> due() = 0;
  /// Records that it was told. On an error it is told again.
  virtual Status told() = 0;
  /// It could not be told, `tries` times now. True: it is given up.
  virtual bool failed(const std::string& why, int tries) = 0;
};

class Errands {
 public:
  /// What comes next after a failure. All wait until the pause after it is over.
  enum class AfterFailure {
    same,   // the same again: they are told in order
    others  // the others: what a program fails at does not stand in their way
  };
  Errands(const Clock& clock, std::string team, AfterFailure after)
      : clock_(clock), team_(std::move(team)), after_failure_(after) {}

  void add(std::unique_ptr<Errand> errand) { waiting_.push_back(std::move(errand)); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  /// Runs the next one if it is due. True when another may be due at once. When `given_up` becomes true the program is
  /// ended, and what it was told is told again after the next start.
  boost::asio::awaitable<bool> run_next(std::function<bool()> given_up);

 private:
  /// True when nothing is left to do of it.
  boost::asio::awaitable<bool> run(Errand&, std::function<bool()> given_up);

  const Clock& clock_;
  const std::string team_;
  const AfterFailure after_failure_;
  std::deque<std::unique_ptr<Errand>> waiting_;
  int tries_ = 0;  // since one was told, or given up
  SteadyTime not_before_{};
  bool running_ = false;
};

}  // namespace inbox_poller::poller
