// `pending --watch` without its terminal: what is on the screen, what each key does, and what the daemon is to be
// asked. Invariants: the card on the screen changes only by a key of its person, when nothing was on it, or a while
// after its ask was decided; a key acts on the ask that was drawn, or on nothing; what was not drawn to its end is not
// approved.
#pragma once

#include <boost/json/object.hpp>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "poller/cli/command.hpp"
#include "poller/cli/terminal.hpp"

namespace inbox_poller::poller::cli {

class Watch {
 public:
  /// `by`: who answers, for the record.
  explicit Watch(std::string by) : by_(std::move(by)) {}

  struct Request {
    std::string verb;
    boost::json::object fields;
  };
  struct Line {
    std::string text;
    bool stands_out = false;
  };
  struct Frame {
    std::vector<Line> lines;  // at most as many, and none wider, than the screen
    std::string shows;        // names the ask and its page; when that changes, what was typed before was not for it
  };

  /// The daemon's answer to `pending`, or why there is none.
  void listed(const Result<boost::json::object>& answer, long long now);
  /// What the daemon is to be asked now, one after the other; each answer comes back through answered().
  std::optional<Request> take_request();
  [[nodiscard]] bool waits() const { return !requests_.empty(); }
  void answered(const Request&, const Result<boost::json::object>& answer, long long now);

  void press(const Key&, long long now);
  /// To be drawn; keys act on what the last frame showed.
  Frame frame(ScreenSize, long long now);
  [[nodiscard]] bool over() const { return over_; }

 private:
  using Object = boost::json::object;

  /// The ask on the screen, as lines of its width.
  struct Card {
    std::vector<std::string> lines;
    int columns = 0;
    std::size_t top = 0;   // the first line on the screen
    std::size_t page = 1;  // so many are
    std::size_t seen = 0;  // from the first on, have been on the screen
    bool whole = false;    // all of them were
  };

  void show(const Object* ask);
  /// The ask before or behind the one on the screen, by age, around the end.
  [[nodiscard]] const Object* neighbour(bool next) const;
  [[nodiscard]] const Object* oldest() const { return asks_.empty() ? nullptr : &asks_.front(); }
  void compare_shown(long long now);
  void decided(std::string fate, long long now);
  void press_in_prompt(const Key&);
  void press_on_card(char key);
  /// Why this ask cannot be answered now; empty when it can.
  [[nodiscard]] std::string obstacle(bool approves) const;
  void request(const std::string& verb, Object fields);
  void wrap_card(int columns);
  [[nodiscard]] std::vector<Line> bottom(int columns, long long now) const;
  [[nodiscard]] std::string title() const;

  const std::string by_;
  std::vector<Object> asks_;  // open, oldest first
  std::string away_;          // why the daemon does not answer

  std::optional<Object> shown_;
  std::string fate_;  // what became of it; empty while it is open
  std::string drawn_;
  Card card_;

  std::optional<std::string> reason_;  // being typed
  std::string note_;                   // about the last key or answer
  std::deque<Request> requests_;
  long long touched_ms_ = 0;  // when a key was pressed, or the ask decided
  bool over_ = false;
};

/// `pending --watch`, on the terminal.
ExitCode watch(Context&);

}  // namespace inbox_poller::poller::cli
