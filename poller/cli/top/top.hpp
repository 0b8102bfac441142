// The command `top` without its terminal: the screen's contents, the keys, and the requests to the daemon. It does no
// input or output; keys and frames get the time as a parameter. Invariants:
// A deciding key counts only for a row or a question that was in view for 400 ms. Nothing is approved that was not
// drawn to its end. A decision names the request shown (`message_key`), so that the daemon rejects any other.
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

#include "poller/cli/status_text.hpp"
#include "poller/cli/top/list_view.hpp"
#include "poller/cli/top/pager.hpp"
#include "poller/cli/top/rows.hpp"
#include "schema/error.hpp"
#include "schema/operations/verb_arguments.hpp"

namespace inbox_poller::poller::cli {

struct ScreenSize {
  int rows = 24;
  int columns = 80;
};

struct TopKey {
  enum class Kind { text, up, down, page_up, page_down, home, end, left, right, tab, enter, escape, backspace, erase_line, paste, click };
  Kind kind = Kind::text;
  std::string text;         // text: one UTF-8 character; paste: the pasted text
  int row = 0, column = 0;  // click: where, from 0
};

class Top {
 public:
  struct Options {
    std::string by;       // who decides, for the record
    bool confirm = true;  // ask for confirmation even if the whole request was shown
    std::function<bool(const operations::OpenRequest&)> wants{};  // filter for the page of requests; empty: all
  };
  struct Request {
    std::variant<arguments::Trace, arguments::Resolve, arguments::Approve, arguments::Deny> asked;
    std::string shown_key = {};  // of a `which`: key of the request shown
    bool marks = false;          // of a `which`: mark the requests that it returns
  };
  enum class Style { plain, title, head, selected, marked, loud, quiet };
  struct Line {
    std::string text;
    Style style = Style::plain;
    Tint tint = Tint::none;
    int beside_at = 0;  // the column of `beside`
    std::string beside = {};
  };

  explicit Top(Options options) : options_(std::move(options)) {}

  [[nodiscard]] TopPage page() const { return page_; }
  /// Takes the present state for a page.
  void got(TopPage page, const Known&);
  /// Takes the present state of all teams, for the line about them.
  void got_teams(const operations::Status&);
  /// Records that the daemon does not answer.
  void lost(const Error& why);
  /// Takes the next request for the daemon; empty when there is none. Its answer must go to answered().
  std::optional<Request> take_request();
  [[nodiscard]] bool waits() const { return !requests_.empty(); }
  void answered(const Request&, const Result<boost::json::object>& answer);

  void press(const TopKey&, long long now);
  /// Draws at most as many lines as the screen has, none wider. Keys act on what the last frame showed.
  std::vector<Line> frame(ScreenSize, long long now);
  /// Must be called when another program used the screen. Keys then count only for what is drawn later.
  void hidden();
  [[nodiscard]] bool over() const { return over_; }

 private:
  using Object = boost::json::object;
  enum class Mode { list, detail, question, filter, reason, help };
  struct Question {
    bool approves = true;
    bool always = false;
    std::vector<operations::OpenRequest> requests;
    std::string rule;    // with `always`: the new rule
    std::string reason;  // of a denial
    Pager shown;
  };

  /// Returns the request shown in full; null on other pages.
  [[nodiscard]] const operations::OpenRequest* shown_request() const {
    return detail_ ? std::get_if<operations::OpenRequest>(&*detail_) : nullptr;
  }
  ListView& list() { return lists_[static_cast<std::size_t>(page_)]; }
  void go_to(TopPage page);
  void to_list();
  /// Notices that a request in view is not open any more: it takes no decision, and its outcome is requested.
  void notice_what_left(const std::vector<ListRow>& rows);
  void tell_what_became(const operations::Trace& traced);
  /// Shows all of the selected row.
  void show_selected();
  void show_help();
  void answered_which(const Request&, const Object& answer);
  void press_in_list(const TopKey&, long long now);
  bool moves(const TopKey&);
  void press_mouse(const TopKey&);
  void press_in_detail(const TopKey&, long long now);
  void press_in_question(const TopKey&, long long now);
  void press_in_text(const TopKey&, long long now);
  /// Handles the keys a, A, d and D.
  void answer(char key, long long now);
  /// Returns the requests that a decision is for; none after a note that says why.
  std::vector<operations::OpenRequest> meant(char key, long long now);
  void ask_back(Question question);
  void ask_which(const operations::OpenRequest& request, bool marks);
  void send(const Question&);
  [[nodiscard]] std::vector<std::string> titles() const;
  /// The line about all teams: what waits and what is wrong, then what their workers do.
  [[nodiscard]] Line teams_line() const;
  /// Describes the position in a text, and a request's deadline.
  [[nodiscard]] std::string place_text(long long now);
  [[nodiscard]] Pager* pager();
  [[nodiscard]] std::string question_text() const;
  [[nodiscard]] std::string keys_text() const;
  void draw_list(std::vector<Line>& lines, int columns, std::size_t rows, long long now);
  /// Draws all of the selected row on the right, from this column on.
  void draw_beside(std::vector<Line>& lines, std::size_t first, int at, int columns, long long now);
  void draw_text(std::vector<Line>& lines, Pager& pager, int columns, std::size_t rows, long long now) const;

  const Options options_;
  std::array<ListView, top_pages> lists_;
  TopPage page_ = TopPage::requests;
  Mode mode_ = Mode::list;
  std::vector<TeamLine> teams_;
  std::size_t first_row_ = 0;  // the line of the list's first row in the last frame
  int beside_at_ = 0;          // the column of the selected row's text in the last frame; 0: it was not shown
  std::string away_;  // reason why the daemon does not answer; empty: it does

  std::optional<Shown> detail_;
  std::string detail_id_;  // id of its row
  std::string outcome_;       // outcome of the request shown, if decided meanwhile
  std::optional<operations::OpenRequest> left_;  // a request whose outcome is requested
  std::string told_;            // the last note about such an outcome
  std::set<std::string> ours_;  // ids of rows decided here
  Pager detail_text_;
  Pager help_;
  std::optional<Question> question_;
  std::vector<operations::OpenRequest> denied_;  // requests for a reason that is being typed
  Mode before_ = Mode::list;    // mode to return to from a question, a text or the help
  std::string typed_;

  std::string note_;
  std::deque<Request> requests_;
  std::size_t waits_for_ = 0;  // decisions without an answer yet
  std::size_t done_ = 0;
  bool over_ = false;
};

}  // namespace inbox_poller::poller::cli
