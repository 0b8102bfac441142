#include "poller/cli/top/top.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/cells.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace {

using Kind = TopKey::Kind;

constexpr std::size_t longest_text = 2000;
constexpr const char* help_text =
    "Pages: 1 asks, 2 teams, 3 workers, 4 chat, 5 log; Tab, h, l, left and right: the next and the one before\n"
    "In a list: j, k, up, down, g, G, Home, End, page up and down; Enter: all of it; Escape: back\n"
    "/ keeps the rows that hold a text; Escape takes it away. Space marks a row, Escape takes the marks away\n"
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
    "A line that begins with \":\" goes on with the one above it. Lines behind \"|\" are an agent's own words.\n"
    "q leaves; a question, a text or this help is left with Escape.\n";

void drop_last_letter(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty()) text.pop_back();
}

bool is_ask(const boost::json::object& a, const boost::json::object& b) {
  return ask_identity(a) == ask_identity(b);
}

char letter_of(const TopKey& key) { return key.kind == Kind::text && key.text.size() == 1 ? key.text[0] : '\0'; }

}  // namespace

void Top::got(TopPage page, const Result<Object>& answer) {
  if (!answer) {
    away_ = printable(answer.error().message);
    return;
  }
  away_.clear();
  lists_[static_cast<std::size_t>(page)].set(rows_of(page, *answer), page == TopPage::chat || page == TopPage::log);
  if (page != TopPage::asks) return;
  const auto asks = objects_of(*answer, "asks");
  const auto is_open = [&](const Object& one) {
    return std::any_of(asks.begin(), asks.end(), [&](const Object* ask) { return is_ask(*ask, one); });
  };
  if (question_) {
    const auto gone = std::erase_if(question_->asks, [&](const Object& one) { return !is_open(one); });
    if (gone > 0) {  // the question was about other asks
      question_.reset();
      mode_ = before_;
      note_ = "what was asked about is decided by now, or another: nothing was done";
    }
  }
}

std::optional<Top::Request> Top::take_request() {
  if (requests_.empty()) return std::nullopt;
  Request first = std::move(requests_.front());
  requests_.pop_front();
  return first;
}

void Top::answered(const Request& request, const Result<Object>& answer) {
  if (request.verb == "which") {
    if (mode_ != Mode::list && mode_ != Mode::detail) return;
    if (!answer) {
      note_ = printable(answer.error().message);
      return;
    }
    const auto asks = objects_of(*answer, "asks");
    const auto meant = std::find_if(asks.begin(), asks.end(), [&](const Object* one) {
      return raw_text_of(*one, "message_key") == raw_text_of(request.fields, "shown_key");
    });
    if (meant == asks.end()) {
      note_ = "it is not open any more, or another ask now: nothing was done";
      return;
    }
    Question question;
    question.verb = "approve";
    question.always = true;
    question.rule = text_of(*answer, "rule") + ", which covers " +
                    (asks.size() == 1 ? "this open ask and no other" : std::to_string(asks.size()) + " open asks");
    question.asks.push_back(**meant);
    ask_back(std::move(question));
    return;
  }
  if (waits_for_ > 0) --waits_for_;
  if (!answer) {
    note_ = "not answered: " + printable(answer.error().message);
    return;
  }
  ++done_;
  note_ = text_of(*answer, "state") + ": " + text_of(*answer, "subject") + " of " + text_of(*answer, "asker");
  if (done_ > 1) note_ = std::to_string(done_) + " answered, the last: " + note_;
  if (const std::string rule = text_of(*answer, "rule_added"); !rule.empty()) note_ += "; from now on: " + rule;
  if (const auto more = objects_of(*answer, "answered").size(); more > 0)
    note_ += "; answered by it: " + std::to_string(more);
}

void Top::go_to(TopPage page) {
  list().hidden();
  page_ = page;
  mode_ = Mode::list;
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

/// True where the key was one that moves the selection.
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
  if (key.kind == Kind::enter && list().selected() != nullptr) {
    detail_ = list().selected()->object;
    detail_text_ = Pager(text_behind(page_, *detail_));
    mode_ = Mode::detail;
  }
  switch (letter) {
    case 'q': over_ = true; break;
    case '/':
      typed_ = list().filter_text();
      mode_ = Mode::filter;
      break;
    case '?':
      before_ = mode_;
      help_ = Pager(help_text);
      mode_ = Mode::help;
      break;
    case ' ':
      if (page_ != TopPage::asks) break;
      list().toggle_mark();
      list().move(1);
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
    mode_ = Mode::list;
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
    before_ = mode_;
    help_ = Pager(help_text);
    mode_ = Mode::help;
  } else if (letter == 'a' || letter == 'A' || letter == 'd' || letter == 'D') {
    answer(letter, now);
  }
}

std::vector<boost::json::object> Top::meant(char key, long long now) {
  const auto none = [&](std::string why) {
    note_ = std::move(why);
    return std::vector<Object>();
  };
  if (page_ != TopPage::asks) return none("only asks are answered, on their page: 1");
  if (!away_.empty()) return none("the daemon does not answer: nothing was done");
  std::vector<Object> asks;
  if (mode_ == Mode::detail && detail_) {
    if (!detail_text_.is_armed(now)) return none("too soon: it has just come into view; nothing was done");
    asks.push_back(*detail_);
  } else {
    const auto marked = list().marked();
    for (const ListRow* row : marked) asks.push_back(row->object);
    if (asks.empty() && list().selected() == nullptr) return none("there is no ask");
    if (!list().is_armed(now)) return none("too soon: it has just come into view; nothing was done");
    if (asks.empty()) asks.push_back(list().selected()->object);
  }
  for (const Object& ask : asks)
    if (!can_be_answered(ask)) return none(ask_name(ask) + " cannot be answered: " + text_of(ask, "answers_reason"));
  if (key == 'A' && asks.size() > 1) return none("A is for one ask: its rule is shown before; Escape takes the marks away");
  if (key == 'A' && raw_text_of(asks.front(), "kind") != "permission")
    return none("\"always\" adds a permission rule; this is no permission: a approves it");
  return asks;
}

void Top::answer(char key, long long now) {
  auto asks = meant(key, now);
  if (asks.empty()) return;
  if (key == 'A') {
    const Object& ask = asks.front();
    Object fields{{"like", raw_text_of(ask, "request_id")},
                  {"team", raw_text_of(ask, "team")},
                  {"kind", raw_text_of(ask, "kind")},
                  {"shown_key", raw_text_of(ask, "message_key")}};
    note_ = "asking which rule that would be";
    requests_.push_back({"which", std::move(fields)});
    return;
  }
  if (key == 'D') {
    denied_ = std::move(asks);
    before_ = mode_;
    typed_.clear();
    mode_ = Mode::reason;
    return;
  }
  Question question;
  question.verb = key == 'a' ? "approve" : "deny";
  question.asks = std::move(asks);
  const bool shown = mode_ == Mode::detail && detail_text_.whole();
  if (key == 'a' && !options_.confirm && shown) {
    send(question);
    mode_ = Mode::list;
    return;
  }
  ask_back(std::move(question));
}

void Top::ask_back(Question question) {
  std::string text;
  if (question.always) text = "from now on in this session: " + question.rule + "\n\n";
  if (!question.reason.empty()) text = "the reason: " + printable(question.reason) + "\n\n";
  for (const Object& ask : question.asks) text += text_behind(TopPage::asks, ask) + '\n';
  question.shown = Pager(std::move(text));
  before_ = mode_ == Mode::detail ? Mode::detail : Mode::list;
  question_ = std::move(question);
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
    } else if (question_->verb == "approve" && !shown.whole()) {
      note_ = "not all of it was shown: Space, j and page down show more";
    } else {
      send(*question_);
      question_.reset();
      list().clear_marks();
      mode_ = Mode::list;
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
      Question question;
      question.verb = "deny";
      question.reason = typed_;
      question.asks = std::move(denied_);
      mode_ = before_;
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
  waits_for_ = question.asks.size();
  done_ = 0;
  for (const Object& ask : question.asks) {
    Object fields{{"by", options_.by}};
    for (const char* name : {"team", "kind", "message_key"})
      if (const std::string value = raw_text_of(ask, name); !value.empty()) fields[name] = value;
    fields["id"] = raw_text_of(ask, "request_id");
    if (question.always) fields["always"] = true;
    if (!question.reason.empty()) fields["reason"] = question.reason;
    requests_.push_back({question.verb, std::move(fields)});
  }
}

std::string Top::title() const {
  std::string text;
  for (std::size_t i = 0; i < top_pages; ++i) {
    const auto page = static_cast<TopPage>(i);
    const std::string count = page == TopPage::asks ? ' ' + std::to_string(lists_[0].total()) : std::string();
    const std::string one = std::to_string(i + 1) + ':' + std::string(name_of(page)) + count;
    text += page == page_ ? '[' + one + "] " : ' ' + one + "  ";
  }
  return text;
}

std::string Top::question_text() const {
  const Question& question = *question_;
  const std::string what = question.asks.size() == 1 ? ask_name(question.asks.front())
                                                     : "these " + std::to_string(question.asks.size()) + " asks";
  return question.verb + ' ' + what + (question.always ? ", and always what the rule covers" : "") + "?  y yes, n no";
}

std::string Top::keys_text() const {
  switch (mode_) {
    case Mode::list:
      return page_ == TopPage::asks ? "a approve  A always  d deny  D with a reason  Enter all of it  Space mark  / filter  ? help  q quit"
                                    : "Enter all of it  / filter  1-5 pages  ? help  q quit";
    case Mode::detail:
      return page_ == TopPage::asks ? "a approve  A always  d deny  D with a reason  Space more  Escape back" : "Space more  Escape back";
    case Mode::question: return question_text();
    case Mode::filter: return "/" + printable(typed_) + '_';
    case Mode::reason: return "reason (Enter goes on, Escape cancels): " + printable(typed_) + '_';
    case Mode::help: break;
  }
  return "Escape back";
}

void Top::draw_list(std::vector<Line>& lines, int columns, std::size_t rows, long long now) {
  ListView& view = list();
  const auto shown = view.draw(rows > 1 ? rows - 1 : 1, now);
  if (shown.empty()) {
    const std::string none = view.total() > 0 ? "none of " + std::to_string(view.total()) + " holds \"" + printable(view.filter_text()) + "\""
                             : page_ == TopPage::asks ? "nothing is waiting for an answer"
                                                      : "there is nothing here";
    lines.push_back({std::string(fitting(none, columns)), Look::plain});
    return;
  }
  std::vector<Row> cells{heads_of(page_)};
  for (const ListRow* row : shown) cells.push_back(cells_of(page_, row->object, now));
  std::string text = cli::list(cells, columns - 2);
  for (std::size_t i = 0; !text.empty(); ++i) {
    const auto end = text.find('\n');
    const std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    if (i == 0) {
      lines.push_back({"  " + line, Look::head});
      continue;
    }
    const ListRow* row = shown[i - 1];
    const bool marked = view.is_marked(*row), selected = row == view.selected();
    lines.push_back({std::string(selected ? ">" : " ") + (marked ? "*" : " ") + line,
                     selected ? Look::selected : marked ? Look::marked : Look::plain});
  }
}

void Top::draw_text(std::vector<Line>& lines, Pager& pager, int columns, std::size_t rows, long long now) const {
  for (auto& line : pager.draw(columns, rows, now)) lines.push_back({std::move(line), Look::plain});
}

std::vector<Top::Line> Top::frame(ScreenSize size, long long now) {
  constexpr int fewest_rows = 6, fewest_columns = 30;
  const int columns = size.columns;
  std::vector<Line> lines;
  if (mode_ != Mode::list && mode_ != Mode::filter) list().hidden();
  if (size.rows < fewest_rows || columns < fewest_columns) {
    list().hidden();
    lines.push_back({std::string(fitting("too small; q quits", columns)), Look::loud});
    return lines;
  }
  lines.push_back({std::string(fitting(title(), columns)), Look::title});
  std::vector<Line> below;
  const auto add = [&](const std::string& text, Look look, std::size_t most) {
    auto parts = by_words(text, columns);
    if (parts.size() > most) parts.resize(most);
    for (auto& part : parts) below.push_back({std::move(part), look});
  };
  Pager* pager = mode_ == Mode::detail ? &detail_text_ : mode_ == Mode::question ? &question_->shown : mode_ == Mode::help ? &help_ : nullptr;
  const std::string place = pager != nullptr ? pager->place() : std::string();
  if (!away_.empty()) add(away_, Look::loud, 2);
  if (!note_.empty()) add(note_, Look::loud, 2);
  if (!place.empty()) add(place, Look::quiet, 1);
  if (mode_ == Mode::filter || mode_ == Mode::reason)
    below.push_back({std::string(fitting_end(keys_text(), columns)), Look::loud});
  else
    add(keys_text(), mode_ == Mode::question ? Look::loud : Look::quiet, mode_ == Mode::question ? 3 : 2);
  const auto most = static_cast<std::size_t>(size.rows) - 3;  // a line for the title, two for what it is about
  if (below.size() > most) below.erase(below.begin(), below.end() - static_cast<std::ptrdiff_t>(most));
  const std::size_t rows = static_cast<std::size_t>(size.rows) - 1 - below.size();
  if (pager != nullptr)
    draw_text(lines, *pager, columns, rows, now);
  else
    draw_list(lines, columns, rows, now);
  lines.resize(1 + rows);
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

}  // namespace inbox_poller::poller::cli
