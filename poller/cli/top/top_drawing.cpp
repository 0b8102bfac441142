// Drawing of `top`: the lists, the texts, and the lines below them.
#include <boost/json.hpp>
#include <map>

#include "poller/cli/cells.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"
#include "poller/cli/top/top.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr int beside_from = 120;  // columns of a screen that shows the selected row next to the list

}  // namespace

void Top::got_teams(const operations::Status& status) {
  teams_.clear();
  for (const auto& team : status.teams) teams_.push_back(team_line(team));
}

std::vector<std::string> Top::titles() const {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < top_pages; ++i) {
    const auto page = static_cast<TopPage>(i);
    const std::string count = page == TopPage::requests ? ' ' + std::to_string(lists_[0].total()) : std::string();
    const std::string one = std::to_string(i + 1) + ':' + std::string(name_of(page)) + count;
    list.push_back(page == page_ ? '[' + one + "] " : ' ' + one + "  ");
  }
  return list;
}

Top::Line Top::teams_line() const {
  std::map<std::string, long long> doing;
  bool is_bad = false, waits = false;
  for (const TeamLine& team : teams_) {
    for (const auto& [what, count] : team.workers) doing[what] += count;
    is_bad = is_bad || !team.trouble.empty() || team.doing("failed") + team.doing("unresponsive") > 0;
    waits = waits || team.requests > 0;
  }
  const Short sum = short_of(teams_);
  std::string text = (sum.waits ? sum.line : "nothing waits") + "; " + std::to_string(teams_.size()) +
                     (teams_.size() == 1 ? " team" : " teams");
  for (const auto& [what, count] : doing)
    if (what != "gone") text += ", " + std::to_string(count) + ' ' + printable(what);
  return {text, is_bad || waits ? Style::plain : Style::quiet, is_bad ? Tint::bad : waits ? Tint::warn : Tint::none};
}

void Top::press_mouse(const TopKey& key) {
  if (key.row == 0) {
    int end = 0;
    const auto all = titles();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (key.column < (end += cells(all[i]))) return go_to(static_cast<TopPage>(i));
  } else if (key.row >= static_cast<int>(first_row_) && list().selected() != nullptr) {
    const bool on_text = beside_at_ > 0 && key.column >= beside_at_;
    if (on_text || list().select_line(static_cast<std::size_t>(key.row) - first_row_)) show_selected();
  }
}

std::string Top::question_text() const {
  const Question& question = *question_;
  const std::string what = question.requests.size() == 1
                               ? request_name(question.requests.front())
                               : "these " + std::to_string(question.requests.size()) + " requests";
  return std::string(question.approves ? "approve " : "deny ") + what + (question.always ? ", and always what the rule covers" : "") + "?  y yes, n no";
}

std::string Top::keys_text() const {
  switch (mode_) {
    case Mode::list:
      return page_ == TopPage::requests ? "a approve  A always  d deny  D with a reason  Enter all of it  Space mark  = alike  / filter  ? help  q quit"
                                    : "Enter all of it  / filter  1-5 pages  ? help  q quit";
    case Mode::detail:
      return page_ == TopPage::requests ? "a approve  A always  d deny  D with a reason  Space more  n next  Escape back" : "Space more  Escape back";
    case Mode::question: return question_text();
    case Mode::filter: return "/" + printable(typed_) + '_';
    case Mode::reason: return "reason (Enter goes on, Escape cancels): " + printable(typed_) + '_';
    case Mode::help: break;
  }
  return "Escape back";
}

Pager* Top::pager() {
  switch (mode_) {
    case Mode::detail: return &detail_text_;
    case Mode::question: return &question_->shown;
    case Mode::help: return &help_;
    default: return nullptr;
  }
}

std::string Top::place_text(long long now) {
  const Pager* text = pager();
  std::string place = text != nullptr ? text->place() : std::string();
  const auto* request = mode_ == Mode::question && question_->requests.size() == 1 ? &question_->requests.front()
                        : mode_ == Mode::detail && outcome_.empty()                   ? shown_request()
                                                                                   : nullptr;
  if (request == nullptr) return place;
  return place + (place.empty() ? "" : "; ") + deadline_text(*request, now);
}

void Top::draw_list(std::vector<Line>& lines, int columns, std::size_t rows, long long now) {
  ListView& view = list();
  const std::size_t first = lines.size();
  const int whole = columns;
  beside_at_ = columns >= beside_from ? columns * 45 / 100 : 0;
  if (beside_at_ > 0) columns = beside_at_ - 1;
  first_row_ = first + 1;
  const auto shown = view.draw(rows > 1 ? rows - 1 : 1, now);
  if (shown.empty()) {
    const std::string none = view.total() > 0 ? "none of " + std::to_string(view.total()) + " holds \"" + printable(view.filter_text()) + "\""
                             : page_ == TopPage::requests ? "nothing is waiting for an answer"
                                                      : "there is nothing here";
    lines.push_back({std::string(fitting(none, columns)), Style::plain});
    return;
  }
  std::vector<Row> cells{heads_of(page_)};
  for (const ListRow* row : shown) cells.push_back(cells_of(row->shown, now));
  if (beside_at_ > 0 && page_ == TopPage::requests)
    for (Row& row : cells) {  // team and kind are in the text next to it
      row.erase(row.begin() + 4);
      row.erase(row.begin() + 2);
    }
  std::string text = cli::list(cells, columns - 2);
  for (std::size_t i = 0; !text.empty(); ++i) {
    const auto end = text.find('\n');
    const std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    if (i == 0) {
      lines.push_back({"  " + line, Style::head});
      continue;
    }
    const ListRow* row = shown[i - 1];
    const bool marked = view.is_marked(*row), selected = row == view.selected();
    lines.push_back({std::string(selected ? ">" : " ") + (marked ? "*" : " ") + line,
                     selected ? Style::selected
                     : marked ? Style::marked
                              : Style::plain,
                     tint_of(row->shown, now)});
  }
  lines.resize(first + rows);
  if (beside_at_ > 0) draw_beside(lines, first, beside_at_, whole, now);
}

void Top::draw_beside(std::vector<Line>& lines, std::size_t first, int at, int columns, long long now) {
  const Shown& shown = list().selected()->shown;
  const auto* request = std::get_if<operations::OpenRequest>(&shown);
  Pager text((request == nullptr ? "" : deadline_text(*request, now) + '\n') + text_behind(shown));
  const int width = columns - at - 2;
  auto part = text.draw(width, lines.size() - first, now);
  if (!text.place().empty()) part.back() = fitting(text.place() + ": Enter shows the rest", width);
  for (std::size_t i = first; i < lines.size(); ++i) {
    lines[i].beside_at = at;
    lines[i].beside = "│ " + (i - first < part.size() ? part[i - first] : std::string());
  }
}

void Top::draw_text(std::vector<Line>& lines, Pager& pager, int columns, std::size_t rows, long long now) const {
  for (auto& line : pager.draw(columns, rows, now)) lines.push_back({std::move(line), Style::plain});
}

std::vector<Top::Line> Top::frame(ScreenSize size, long long now) {
  constexpr int fewest_rows = 6, fewest_columns = 30, fewest_rows_with_teams = 10;
  const int columns = size.columns;
  std::vector<Line> lines;
  if (mode_ != Mode::list && mode_ != Mode::filter) list().hidden();
  if (size.rows < fewest_rows || columns < fewest_columns) {
    hidden();
    lines.push_back({std::string(fitting("too small; q quits", columns)), Style::loud});
    return lines;
  }
  std::string title;
  for (const std::string& one : titles()) title += one;
  lines.push_back({std::string(fitting(title, columns)), Style::title});
  if (!teams_.empty() && size.rows >= fewest_rows_with_teams) {
    lines.push_back(teams_line());
    lines.back().text = cut(lines.back().text, columns);
  }
  const std::size_t head = lines.size();
  std::vector<Line> below;
  const auto add = [&](const std::string& text, Style style, std::size_t most) {
    auto parts = by_words(text, columns);
    if (parts.size() > most) parts.resize(most);
    for (auto& part : parts) below.push_back({std::move(part), style});
  };
  const std::string place = place_text(now);
  if (!away_.empty()) add(away_, Style::loud, 2);
  if (mode_ == Mode::detail && !outcome_.empty()) add(outcome_, Style::loud, 2);
  if (!note_.empty()) add(note_, Style::loud, 2);
  if (!place.empty()) add(place, Style::quiet, 2);
  if (mode_ == Mode::filter || mode_ == Mode::reason)
    below.push_back({std::string(fitting_end(keys_text(), columns)), Style::loud});
  else
    add(keys_text(), mode_ == Mode::question ? Style::loud : Style::quiet, mode_ == Mode::question ? 3 : 2);
  const auto most = static_cast<std::size_t>(size.rows) - head - 2;  // two lines for the contents
  if (below.size() > most) below.erase(below.begin(), below.end() - static_cast<std::ptrdiff_t>(most));
  const std::size_t rows = static_cast<std::size_t>(size.rows) - head - below.size();
  if (Pager* text = pager(); text != nullptr)
    draw_text(lines, *text, columns, rows, now);
  else
    draw_list(lines, columns, rows, now);
  lines.resize(head + rows);
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

}  // namespace inbox_poller::poller::cli
