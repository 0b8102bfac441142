#include "poller/cli/top/top.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <string_view>

#include "poller/cli/cells.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"

namespace inbox_poller::poller::cli {

namespace {

using Kind = TopKey::Kind;

constexpr std::size_t longest_text = 2000;
constexpr const char* undone = "it is not open any more: nothing was done";
constexpr const char* unsent = "it is not open any more: the reason will not be sent; Enter or Escape";
constexpr const char* help_text =
    "Pages: 1 requests, 2 teams, 3 workers, 4 chat, 5 log; Tab, h, l, left and right: the next and the one before\n"
    "In a list: j, k, up, down, g, G, Home, End, page up and down; Enter: all of it; Escape: back;\n"
    "n and p there: all of the next one, and of the one before\n"
    "/ keeps the rows that hold a text; Escape takes it away. Space marks a row, = all requests that the\n"
    "rule made from the selected one would cover; Escape takes the marks away\n"
    "\n"
    "a  approve what is selected, or all that is marked\n"
    "A  approve it and add the rule that covers it, for this session; the rule is shown before\n"
    "d  deny it\n"
    "D  deny it with a reason, which the worker reads\n"
    "\n"
    "Each of these asks back with all of what would be run; y is the yes. What is longer than the screen has to be\n"
    "scrolled to its end first. A key counts only for what has been in view for 400 ms: what you typed while\n"
    "something else was there does nothing.\n"
    "\n"
    "A click selects a row, and a click on the selected one shows all of it; the wheel moves. With Shift the mouse\n"
    "is your terminal's. From 120 columns on the selected row's text is next to the list.\n"
    "A line that begins with \":\" goes on with the one above it. Lines behind \"|\" are an agent's own words.\n"
    "q leaves; a question, a text or this help is left with Escape.\n";

void drop_last_letter(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty()) text.pop_back();
}

char letter_of(const TopKey& key) { return key.kind == Kind::text && key.text.size() == 1 ? key.text[0] : '\0'; }

bool same_place(const operations::Request& a, const operations::Request& b) {
  return a.team == b.team && a.kind == b.kind && a.request_id == b.request_id && a.member == b.member;
}

/// Returns the request of a row on the page of requests.
const operations::OpenRequest& request_on(const ListRow& row) { return std::get<operations::OpenRequest>(row.shown); }

}  // namespace

void Top::lost(const Error& why) { away_ = printable(why.message); }

void Top::got(TopPage page, const Known& known) {
  away_.clear();
  auto rows = rows_of(page, known);
  if (page == TopPage::requests) {
    if (options_.wants) std::erase_if(rows, [&](const ListRow& row) { return !options_.wants(request_on(row)); });
    notice_what_left(rows);
  }
  lists_[static_cast<std::size_t>(page)].set(std::move(rows), page == TopPage::chat || page == TopPage::log);
}

void Top::notice_what_left(const std::vector<ListRow>& rows) {
  std::set<std::string_view> open;
  for (const ListRow& row : rows) open.insert(row.id);
  std::optional<operations::OpenRequest> left;
  const auto has_left = [&](const operations::OpenRequest& request) {
    if (open.contains(request_identity(request))) return false;
    if (!left) left = request;
    return true;
  };
  const ListRow* selected = lists_[static_cast<std::size_t>(TopPage::requests)].selected();
  if (mode_ == Mode::question && std::any_of(question_->requests.begin(), question_->requests.end(), has_left)) {
    question_.reset();
    mode_ = before_;
    note_ = undone;
  } else if (mode_ == Mode::reason && std::any_of(denied_.begin(), denied_.end(), has_left)) {
    denied_.clear();  // typing continues to Enter or Escape, so that letters do not become keys
    note_ = unsent;
  } else if (mode_ == Mode::list && page_ == TopPage::requests && list().is_drawn() && !ours_.contains(selected->id)) {
    has_left(request_on(*selected));
  }
  if (const auto* request = shown_request(); request != nullptr && outcome_.empty() && has_left(*request))
    outcome_ = request_name(*request) + " is not open any more";
  std::erase_if(ours_, [&](const std::string& id) { return !open.contains(id); });
  if (!left) return;
  if (std::any_of(rows.begin(), rows.end(), [&](const ListRow& row) { return same_place(request_on(row), *left); })) {
    note_ = request_name(*left) + " is gone, and another request has its id: nothing was done";
    return;
  }
  requests_.push_back({arguments::Trace{.id = left->request_id.bytes}});
  left_ = std::move(left);
}

void Top::tell_what_became(const operations::Trace& traced) {
  std::string outcome;
  for (const auto& one : traced.requests)
    if (left_ && same_place(one, *left_)) outcome = request_name(one) + ' ' + request_sentence(one);
  if (outcome.empty()) return;
  if (shown_request() != nullptr && same_place(*shown_request(), *left_)) outcome_ = outcome;
  if (mode_ == Mode::reason && denied_.empty())
    note_ = outcome + "; the reason will not be sent: Enter or Escape";
  else if (note_ == undone)
    note_ = told_ = outcome + ": nothing was done";
  else if ((note_.empty() || note_ == told_) && !detail_)  // keeps a note about a decision made here
    note_ = told_ = outcome;
}

void Top::hidden() {
  list().hidden();
  for (Pager* text : {&detail_text_, &help_}) text->hidden();
  if (question_) question_->shown.hidden();
}

std::optional<Top::Request> Top::take_request() {
  if (requests_.empty()) return std::nullopt;
  Request first = std::move(requests_.front());
  requests_.pop_front();
  return first;
}

void Top::answered_which(const Request& request, const Object& answer) {
  if (mode_ != Mode::list && mode_ != Mode::detail) return;
  const auto covered = operations::decode<operations::Meant>(answer);
  const auto& requests = covered.requests;
  if (request.marks) {
    std::set<std::string> ids;
    for (const auto& one : requests) ids.insert(request_identity(one));
    const auto marked = lists_[static_cast<std::size_t>(TopPage::requests)].mark(ids);
    note_ = std::to_string(marked) + " open requests here are covered by " + printable(covered.rule) + " and marked";
    return;
  }
  const auto meant = std::ranges::find(requests, request.shown_key,
                                       [](const auto& one) { return one.message_key.bytes; });
  if (meant == requests.end()) {
    note_ = "it is not open any more, or another request now: nothing was done";
    return;
  }
  Question question;
  question.always = true;
  question.rule =
      printable(covered.rule) + ", which covers " +
      (requests.size() == 1 ? "this open request and no other" : std::to_string(requests.size()) + " open requests");
  question.requests.push_back(*meant);
  ask_back(std::move(question));
}

void Top::answered(const Request& request, const Result<Object>& answer) {
  if (std::holds_alternative<arguments::Trace>(request.asked)) {
    if (answer) tell_what_became(operations::decode<operations::Trace>(*answer));
    return;
  }
  if (std::holds_alternative<arguments::Resolve>(request.asked)) {
    if (answer) return answered_which(request, *answer);
    note_ = printable(answer.error().message);
    return;
  }
  const auto* approve = std::get_if<arguments::Approve>(&request.asked);
  const auto asked = approve != nullptr ? approve->ids.size() : std::get<arguments::Deny>(request.asked).ids.size();
  waits_for_ -= std::min(waits_for_, asked);
  if (!answer) {
    note_ = "not answered: " + printable(answer.error().message);
    return;
  }
  std::string refused;
  const auto outcomes = operations::decode<operations::Outcomes>(*answer);
  for (const auto& one : outcomes.answers) {
    if (!one.ok) {
      refused = "not answered: " + printable(one.message);
      continue;
    }
    ++done_;
    note_ = printable(one.state) + ": " + printable(one.subject) + " of " + printable(one.member);
    if (one.rule_added) note_ += "; from now on: " + printable(one.rule_added);
  }
  if (done_ > 1) note_ = std::to_string(done_) + " answered, the last: " + note_;
  if (!refused.empty()) note_ = refused + (done_ > 0 ? "; " + note_ : "");
  if (outcomes.answered && !outcomes.answered->empty())
    note_ += "; answered by it: " + std::to_string(outcomes.answered->size());
}

void Top::go_to(TopPage page) {
  list().hidden();
  page_ = page;
  to_list();
}

void Top::to_list() {
  mode_ = Mode::list;
  detail_.reset();
  outcome_.clear();
}

void Top::show_selected() {
  detail_ = list().selected()->shown;
  detail_id_ = list().selected()->id;
  detail_text_ = Pager(text_behind(*detail_));
  outcome_.clear();
  mode_ = Mode::detail;
}

void Top::show_help() {
  before_ = mode_;
  help_ = Pager(help_text);
  mode_ = Mode::help;
}

void Top::press(const TopKey& key, long long now) {
  note_.clear();
  const bool types = mode_ == Mode::filter || mode_ == Mode::reason;
  if (key.kind == Kind::paste && !types) {
    note_ = "pasted text is not taken for keys";
    return;
  }
  switch (mode_) {
    case Mode::list: return press_in_list(key, now);
    case Mode::detail: return press_in_detail(key, now);
    case Mode::question: return press_in_question(key, now);
    case Mode::filter:
    case Mode::reason: return press_in_text(key, now);
    case Mode::help: break;
  }
  if (key.kind == Kind::escape || letter_of(key) == 'q' || letter_of(key) == '?')
    mode_ = before_;
  else if (key.kind == Kind::down || key.kind == Kind::page_down || letter_of(key) == 'j')
    help_.scroll(1);
  else if (key.kind == Kind::up || key.kind == Kind::page_up || letter_of(key) == 'k')
    help_.scroll(-1);
}

/// Moves the selection if the key is for that; true if it was.
bool Top::moves(const TopKey& key) {
  constexpr long page = 10;
  const char letter = letter_of(key);
  if (key.kind == Kind::down || letter == 'j')
    list().move(1);
  else if (key.kind == Kind::up || letter == 'k')
    list().move(-1);
  else if (key.kind == Kind::page_down)
    list().move(page);
  else if (key.kind == Kind::page_up)
    list().move(-page);
  else if (key.kind == Kind::home || letter == 'g')
    list().to_first();
  else if (key.kind == Kind::end || letter == 'G')
    list().to_last();
  else
    return false;
  return true;
}

void Top::press_in_list(const TopKey& key, long long now) {
  if (moves(key)) return;
  if (key.kind == Kind::click) return press_mouse(key);
  const char letter = letter_of(key);
  const auto page = static_cast<std::size_t>(page_);
  if (letter >= '1' && letter <= '5') return go_to(static_cast<TopPage>(letter - '1'));
  if (key.kind == Kind::tab || key.kind == Kind::right || letter == 'l')
    return go_to(static_cast<TopPage>((page + 1) % top_pages));
  if (key.kind == Kind::left || letter == 'h') return go_to(static_cast<TopPage>((page + top_pages - 1) % top_pages));
  if (key.kind == Kind::escape) {
    list().clear_marks();
    return list().filter("");
  }
  if (key.kind == Kind::enter && list().selected() != nullptr) return show_selected();
  switch (letter) {
    case 'q': over_ = true; break;
    case '/':
      typed_ = list().filter_text();
      mode_ = Mode::filter;
      break;
    case '?': return show_help();
    case ' ':
      if (page_ != TopPage::requests) break;
      list().toggle_mark();
      list().move(1);
      break;
    case '=':
      if (page_ == TopPage::requests && list().selected() != nullptr) ask_which(request_on(*list().selected()), true);
      break;
    case 'a':
    case 'A':
    case 'd':
    case 'D': return answer(letter, now);
    default: break;
  }
}

void Top::press_in_detail(const TopKey& key, long long now) {
  const char letter = letter_of(key);
  const long page = std::max(1L, static_cast<long>(detail_text_.page()) - 1);
  if (key.kind == Kind::escape || letter == 'q' || letter == 'h' || key.kind == Kind::left)
    to_list();
  else if (key.kind == Kind::down || letter == 'j')
    detail_text_.scroll(1);
  else if (key.kind == Kind::up || letter == 'k')
    detail_text_.scroll(-1);
  else if (key.kind == Kind::page_down || letter == ' ')
    detail_text_.scroll(page);
  else if (key.kind == Kind::page_up)
    detail_text_.scroll(-page);
  else if (key.kind == Kind::home || letter == 'g')
    detail_text_.scroll(-1'000'000'000);
  else if (letter == '?') {
    show_help();
  } else if (letter == 'n' || letter == 'p') {
    const bool is_there = list().selected() != nullptr && list().selected()->id == detail_id_;
    if (is_there || letter == 'p') list().move(letter == 'n' ? 1 : -1);  // after a row is gone, the next has its place
    if (list().selected() == nullptr || list().selected()->id == detail_id_)
      note_ = letter == 'n' ? "there is none behind it" : "there is none before it";
    else
      show_selected();
  } else if (letter == 'a' || letter == 'A' || letter == 'd' || letter == 'D') {
    answer(letter, now);
  }
}

std::vector<operations::OpenRequest> Top::meant(char key, long long now) {
  const auto none = [&](std::string why) {
    note_ = std::move(why);
    return std::vector<operations::OpenRequest>();
  };
  if (page_ != TopPage::requests) return none("only requests are answered, on their page: 1");
  if (!away_.empty()) return none("the daemon does not answer: nothing was done");
  std::vector<operations::OpenRequest> requests;
  if (mode_ == Mode::detail && shown_request() != nullptr) {
    if (!outcome_.empty()) return none("it is not open any more: n shows the next one");
    if (!detail_text_.is_armed(now)) return none("too soon: it has just come into view; nothing was done");
    requests.push_back(*shown_request());
  } else {
    const auto marked = list().marked();
    for (const ListRow* row : marked) requests.push_back(request_on(*row));
    if (requests.empty() && list().selected() == nullptr) return none("no request is open");
    if (!list().is_armed(now)) return none("too soon: it has just come into view; nothing was done");
    if (requests.empty()) requests.push_back(request_on(*list().selected()));
  }
  for (const auto& request : requests)
    if (!can_be_answered(request)) return none(request_name(request) + " cannot be answered: " + printable(request.answers_reason));
  if (key == 'A' && requests.size() > 1) return none("A is for one request: its rule is shown before; Escape takes the marks away");
  if (key == 'A' && requests.front().kind != "permission")
    return none("\"always\" adds a permission rule, and this request is of another kind: a approves it");
  return requests;
}

/// Asks the daemon which rule would cover a request, and which open ones, to mark them or to show the rule.
void Top::ask_which(const operations::OpenRequest& request, bool marks) {
  const std::string& key = request.message_key.bytes;  // another worker's request may have the same id
  note_ = "asking which rule that would be";
  requests_.push_back(
      {arguments::Resolve{
           .like = key.empty() ? request.request_id.bytes : key, .team = request.team.bytes, .kind = request.kind},
       key, marks});
}

void Top::answer(char key, long long now) {
  auto requests = meant(key, now);
  if (requests.empty()) return;
  if (key == 'A') {
    return ask_which(requests.front(), false);
  }
  if (key == 'D') {
    denied_ = std::move(requests);
    before_ = mode_;
    typed_.clear();
    mode_ = Mode::reason;
    return;
  }
  Question question;
  question.approves = key == 'a';
  question.requests = std::move(requests);
  const bool shown = mode_ == Mode::detail && detail_text_.whole();
  if (key == 'a' && !options_.confirm && shown) {
    send(question);
    return to_list();
  }
  ask_back(std::move(question));
}

void Top::ask_back(Question question) {
  std::string text;
  if (question.always) text = "from now on in this session: " + question.rule + "\n\n";
  if (!question.reason.empty()) text = "the reason: " + printable(question.reason) + "\n\n";
  for (const auto& request : question.requests) text += text_behind(request) + '\n';
  question.shown = Pager(std::move(text));
  before_ = mode_ == Mode::detail ? Mode::detail : Mode::list;
  question_ = std::move(question);
  note_.clear();
  mode_ = Mode::question;
}

void Top::press_in_question(const TopKey& key, long long now) {
  const char letter = letter_of(key);
  Pager& shown = question_->shown;
  const long page = std::max(1L, static_cast<long>(shown.page()) - 1);
  if (key.kind == Kind::down || letter == 'j')
    shown.scroll(1);
  else if (key.kind == Kind::up || letter == 'k')
    shown.scroll(-1);
  else if (key.kind == Kind::page_down || letter == ' ')
    shown.scroll(page);
  else if (key.kind == Kind::page_up)
    shown.scroll(-page);
  else if (key.kind == Kind::escape || letter == 'n' || letter == 'q') {
    question_.reset();
    mode_ = before_;
    note_ = "nothing was done";
  } else if (letter == 'y') {
    if (!shown.is_armed(now)) {
      note_ = "too soon: the question has just come into view";
    } else if (!away_.empty()) {
      note_ = "the daemon does not answer: nothing was done";
    } else if (question_->approves && !shown.whole()) {
      note_ = "not all of it was shown: Space, j and page down show more";
    } else {
      send(*question_);
      question_.reset();
      list().clear_marks();
      to_list();
    }
  }
}

void Top::press_in_text(const TopKey& key, long long /*now*/) {
  const bool filters = mode_ == Mode::filter;
  switch (key.kind) {
    case Kind::escape:
      if (filters) list().filter("");
      note_ = filters ? "" : "nothing was sent";
      mode_ = filters ? Mode::list : before_;
      return;
    case Kind::enter: {
      if (filters) {
        mode_ = Mode::list;
        return;
      }
      if (typed_.find_first_not_of(' ') == std::string::npos) {
        note_ = "the worker reads the reason: say what to do instead, or Escape and d";
        return;
      }
      mode_ = before_;
      if (denied_.empty()) {
        note_ = undone;
        return;
      }
      Question question;
      question.approves = false;
      question.reason = typed_;
      question.requests = std::move(denied_);
      ask_back(std::move(question));
      return;
    }
    case Kind::backspace: drop_last_letter(typed_); break;
    case Kind::erase_line: typed_.clear(); break;
    case Kind::text:
    case Kind::paste:
      if (typed_.size() + key.text.size() <= longest_text)
        for (const char c : key.text) typed_ += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
      break;
    default: return;
  }
  if (filters) list().filter(typed_);
}

void Top::send(const Question& question) {
  waits_for_ = question.requests.size();
  done_ = 0;
  std::vector<const operations::OpenRequest*> requests;
  for (const auto& request : question.requests) {
    requests.push_back(&request);
    ours_.insert(request_identity(request));
  }
  const auto send_all = [&](auto answer) {
    answer.by = options_.by;
    for (auto& request : answers_to(requests, std::move(answer))) requests_.push_back({std::move(request)});
  };
  if (!question.approves) {
    arguments::Deny deny;
    deny.reason = question.reason;
    return send_all(std::move(deny));
  }
  arguments::Approve approve;
  approve.always = question.always;
  send_all(std::move(approve));
}

}  // namespace inbox_poller::poller::cli
