// `inbox-poller top` without its terminal: what is on the screen, what each key does, and what the daemon is to be asked.
// Pure; time is a parameter. Invariants: a key that answers counts only for a row that was selected and drawn for
// 400 ms, or for a question that was; what was not drawn to its end is not approved; what is sent names the ask that was
// shown (`message_key`), so that the daemon refuses any other.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "poller/cli/top/list_view.hpp"
#include "poller/cli/top/pager.hpp"
#include "poller/cli/top/rows.hpp"
#include "schema/error.hpp"
#include "schema/operations/requests.hpp"

namespace inbox_poller::poller::cli {

struct ScreenSize {
  int rows = 24;
  int columns = 80;
};

struct TopKey {
  enum class Kind { text, up, down, page_up, page_down, home, end, left, right, tab, enter, escape, backspace, erase_line, paste };
  Kind kind = Kind::text;
  std::string text;  // text: one character, UTF-8; paste: what was pasted
};

class Top {
 public:
  struct Options {
    std::string by;       // who answers, for the record
    bool confirm = true;  // ask back also where all of the ask is on the screen
    std::function<bool(const operations::OpenAsk&)> wants{};  // which asks are listed; empty: all
  };
  struct Request {
    std::variant<requests::Trace, requests::Which, requests::Approve, requests::Deny> asked;
    std::string shown_key = {};  // of a `which`: of the ask that is shown
    bool marks = false;          // of a `which`: what it answers is to be marked
  };
  enum class Look { plain, title, head, selected, marked, loud, quiet };
  struct Line {
    std::string text;
    Look look = Look::plain;
  };

  explicit Top(Options options) : options_(std::move(options)) {}

  [[nodiscard]] TopPage page() const { return page_; }
  /// What that page shows is like this now.
  void got(TopPage page, const Known&);
  /// The daemon does not answer.
  void lost(const Error& why);
  /// What the daemon is to be asked now, one after the other; each answer comes back through answered().
  std::optional<Request> take_request();
  [[nodiscard]] bool waits() const { return !requests_.empty(); }
  void answered(const Request&, const Result<boost::json::object>& answer);

  void press(const TopKey&, long long now);
  /// At most as many lines, and none wider, than the screen; keys act on what the last frame showed.
  std::vector<Line> frame(ScreenSize, long long now);
  /// The screen was somebody else's: keys count only for what is drawn from now on.
  void hidden();
  [[nodiscard]] bool over() const { return over_; }

 private:
  using Object = boost::json::object;
  enum class Mode { list, detail, question, filter, reason, help };
  struct Question {
    bool approves = true;
    bool always = false;
    std::vector<operations::OpenAsk> asks;
    std::string rule;    // always: what holds from now on
    std::string reason;  // deny
    Pager shown;
  };

  /// The ask that is shown whole; null on another page.
  [[nodiscard]] const operations::OpenAsk* shown_ask() const {
    return detail_ ? std::get_if<operations::OpenAsk>(&*detail_) : nullptr;
  }
  ListView& list() { return lists_[static_cast<std::size_t>(page_)]; }
  void go_to(TopPage page);
  void to_list();
  /// Where an ask that somebody has before the eyes is open no more: it takes no answer, and what became of it is
  /// asked for.
  void notice_what_left(const std::vector<ListRow>& rows);
  void tell_what_became(const operations::Trace& traced);
  /// All of the selected row.
  void show_selected();
  void show_help();
  void answered_which(const Request&, const Object& answer);
  void press_in_list(const TopKey&, long long now);
  bool moves(const TopKey&);
  void press_in_detail(const TopKey&, long long now);
  void press_in_question(const TopKey&, long long now);
  void press_in_text(const TopKey&, long long now);
  /// a, A, d or D was pressed.
  void answer(char key, long long now);
  /// The asks that an answer is for, or none and a note why not.
  std::vector<operations::OpenAsk> meant(char key, long long now);
  void ask_back(Question question);
  void ask_which(const operations::OpenAsk& ask, bool marks);
  void send(const Question&);
  [[nodiscard]] std::string title() const;
  /// Where in a text, and until when an ask waits.
  [[nodiscard]] std::string place_text(long long now);
  [[nodiscard]] Pager* pager();
  [[nodiscard]] std::string question_text() const;
  [[nodiscard]] std::string keys_text() const;
  void draw_list(std::vector<Line>& lines, int columns, std::size_t rows, long long now);
  void draw_text(std::vector<Line>& lines, Pager& pager, int columns, std::size_t rows, long long now) const;

  const Options options_;
  std::array<ListView, top_pages> lists_;
  TopPage page_ = TopPage::asks;
  Mode mode_ = Mode::list;
  std::string away_;  // why the daemon does not answer

  std::optional<Shown> detail_;
  std::string detail_id_;  // of its row
  std::string fate_;       // of the ask that is shown: what became of it meanwhile
  std::optional<operations::OpenAsk> left_;  // what became of it is asked for
  std::string told_;            // the last note about such a one
  std::set<std::string> ours_;  // rows that we have answered
  Pager detail_text_;
  Pager help_;
  std::optional<Question> question_;
  std::vector<operations::OpenAsk> denied_;  // while the reason is typed
  Mode before_ = Mode::list;    // where a question, a text or the help goes back to
  std::string typed_;

  std::string note_;
  std::deque<Request> requests_;
  std::size_t waits_for_ = 0;  // answers under way
  std::size_t done_ = 0;
  bool over_ = false;
};

}  // namespace inbox_poller::poller::cli
