#include "poller/cli/watch.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <tuple>

#include "poller/cli/ask_card.hpp"
#include "poller/cli/cells.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr int fewest_rows = 10;
constexpr int fewest_columns = 30;
constexpr std::size_t fewest_card_lines = 3;
constexpr std::size_t note_lines = 6;
constexpr std::size_t longest_reason = 2000;
constexpr long long fate_stands_ms = 5000;
constexpr std::string_view keys_help = "a approve  A always  d deny  n next  p previous  s show more  q quit";
constexpr std::string_view prompt_title = "reason (Enter denies, Escape cancels): ";

bool same_place(const json::object& a, const json::object& b) {
  return raw_text_of(a, "team") == raw_text_of(b, "team") && raw_text_of(a, "kind") == raw_text_of(b, "kind") &&
         raw_text_of(a, "request_id") == raw_text_of(b, "request_id");
}

auto age_of(const json::object& ask) {
  return std::tuple(number_of(ask, "asked_ms"), raw_text_of(ask, "team"), raw_text_of(ask, "request_id"),
                    raw_text_of(ask, "kind"));
}

void drop_last_character(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

void Watch::listed(const Result<Object>& answer, long long now) {
  if (!answer) {
    away_ = printable(answer.error().message);
    return;
  }
  away_.clear();
  asks_.clear();
  for (const Object* ask : objects_of(*answer, "asks")) asks_.push_back(*ask);
  std::stable_sort(asks_.begin(), asks_.end(), [](const auto& a, const auto& b) { return age_of(a) < age_of(b); });
  if (shown_) compare_shown(now);
  const bool left = shown_ && !fate_.empty() && !reason_ && now - touched_ms_ >= fate_stands_ms;
  if (!shown_ || left) show(left ? neighbour(true) : oldest());
}

void Watch::compare_shown(long long now) {
  const auto found =
      std::find_if(asks_.begin(), asks_.end(), [&](const Object& ask) { return same_place(ask, *shown_); });
  if (found == asks_.end()) {
    if (!fate_.empty()) return;
    decided("is not open any more", now);
    requests_.push_back({"trace", {{"id", raw_text_of(*shown_, "request_id")}}});
  } else if (ask_identity(*found) != ask_identity(*shown_)) {
    if (fate_.empty()) decided("is gone, and another ask has its id: nothing was done", now);
  } else {
    fate_.clear();
  }
}

void Watch::decided(std::string fate, long long now) {
  fate_ = std::move(fate);
  touched_ms_ = now;
  // A reason that is being typed goes on to its end: its characters must not become keys in the middle.
  if (reason_) note_ = "the reason will not be sent: Enter or Escape";
}

std::optional<Watch::Request> Watch::take_request() {
  if (requests_.empty()) return std::nullopt;
  Request first = std::move(requests_.front());
  requests_.pop_front();
  return first;
}

void Watch::answered(const Request& request, const Result<Object>& answer, long long now) {
  if (!shown_) return;
  if (request.verb == "trace") {
    if (!answer) return;
    for (const Object* one : objects_of(*answer, "requests"))
      if (same_place(*one, *shown_)) fate_ = request_sentence(*one);
    return;
  }
  if (!answer) {
    note_ = printable(answer.error().message);
    return;
  }
  const std::string rule = text_of(*answer, "rule_added");
  note_.clear();
  decided(
      "is " + text_of(*answer, "state") + " by you" + (rule.empty() ? "" : "; from now on in this session: " + rule),
      now);
}

void Watch::show(const Object* ask) {
  shown_ = ask != nullptr ? std::optional(*ask) : std::nullopt;
  fate_.clear();
  note_.clear();
  reason_.reset();
  card_ = {};
}

const json::object* Watch::neighbour(bool next) const {
  if (asks_.empty() || !shown_) return oldest();
  const auto here = age_of(*shown_);
  if (next) {
    const auto found = std::find_if(asks_.begin(), asks_.end(), [&](const Object& ask) { return age_of(ask) > here; });
    return found == asks_.end() ? &asks_.front() : &*found;
  }
  const auto found = std::find_if(asks_.rbegin(), asks_.rend(), [&](const Object& ask) { return age_of(ask) < here; });
  return found == asks_.rend() ? &asks_.back() : &*found;
}

void Watch::press(const Key& key, long long now) {
  touched_ms_ = now;
  note_.clear();
  if (reason_) return press_in_prompt(key);
  if (key.kind == Key::Kind::paste) {
    note_ = "pasted text is not taken for keys";
    return;
  }
  if (key.kind != Key::Kind::text || key.text.size() != 1) return;
  press_on_card(key.text[0]);
}

void Watch::press_on_card(char key) {
  if (key == 'q') {
    over_ = true;
  } else if (key == 'n' || key == 'p') {
    const Object* other = neighbour(key == 'n');
    const bool moves = other == nullptr || !shown_ || ask_identity(*other) != ask_identity(*shown_);
    if (moves)
      show(other);
    else
      note_ = "there is no other ask";
  } else if (key == 's') {
    card_.top = card_.top + card_.page >= card_.lines.size() ? 0 : card_.top + card_.page;
  } else if (key == 'a' || key == 'A' || key == 'd') {
    note_ = obstacle(key != 'd');
    if (!note_.empty()) return;
    if (key == 'A' && raw_text_of(*shown_, "kind") != "permission") {
      note_ = "\"always\" adds a permission rule; this is no permission: a approves it";
    } else if (key == 'd') {
      reason_ = "";
    } else {
      request("approve", key == 'A' ? Object{{"always", true}} : Object{});
    }
  }
}

std::string Watch::obstacle(bool approves) const {
  if (!shown_) return "there is no ask on the screen";
  if (drawn_ != ask_identity(*shown_)) return "the screen changed just then: nothing was done";
  if (!fate_.empty()) return "it is not open any more: n shows the next one";
  if (!away_.empty()) return "the daemon does not answer: nothing was done";
  if (approves && !card_.whole) return "not all of it was shown: s";
  return {};
}

void Watch::press_in_prompt(const Key& key) {
  std::string& reason = *reason_;
  switch (key.kind) {
    case Key::Kind::escape:
      reason_.reset();
      note_ = "nothing was sent";
      return;
    case Key::Kind::enter:
      if (reason.find_first_not_of(' ') == std::string::npos) {
        note_ = "the worker reads the reason: say what to do instead";
        return;
      }
      if (note_ = obstacle(false); note_.empty()) request("deny", {{"reason", reason}});
      reason_.reset();
      return;
    case Key::Kind::backspace: return drop_last_character(reason);
    case Key::Kind::erase_line: return reason.clear();
    case Key::Kind::text:
    case Key::Kind::paste:
      if (reason.size() + key.text.size() > longest_reason) {
        note_ = "the reason is long enough";
        return;
      }
      for (const char c : key.text) reason += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
}

void Watch::request(const std::string& verb, Object fields) {
  fields["id"] = raw_text_of(*shown_, "request_id");
  fields["team"] = raw_text_of(*shown_, "team");
  fields["by"] = by_;
  if (const std::string key = raw_text_of(*shown_, "message_key"); !key.empty()) fields["message_key"] = key;
  requests_.push_back({verb, std::move(fields)});
}

void Watch::wrap_card(int columns) {
  if (columns == card_.columns) return;
  card_.columns = columns;
  card_.lines =
      wrapped(ask_name(*shown_) + ask_text(*shown_, time_text(number_of(*shown_, "asked_ms"))), columns, goes_on);
  card_.top = card_.seen = 0;  // other lines now
}

std::string Watch::title() const {
  std::string text = "inbox-poller pending: " + std::to_string(asks_.size()) + " open";
  if (!shown_) return text;
  for (std::size_t i = 0; i < asks_.size(); ++i)
    if (same_place(asks_[i], *shown_)) text += ", this is " + std::to_string(i + 1);
  return text;
}

std::vector<Watch::Line> Watch::bottom(int columns, long long now) const {
  std::vector<Line> lines;
  const auto add = [&](const std::vector<std::string>& texts, bool stands_out, std::size_t most) {
    for (std::size_t i = 0; i < std::min(texts.size(), most); ++i) lines.push_back({texts[i], stands_out});
  };
  if (shown_ && fate_.empty()) {
    const long long deadline = number_of(*shown_, "deadline_ms");
    std::string state = deadline == 0 ? "waits for the lead that reads this inbox"
                                      : "denied in " + span_text(deadline - now) + " unless answered";
    if (card_.lines.size() > card_.page)
      state = "lines " + std::to_string(card_.top + 1) + " to " +
              std::to_string(std::min(card_.top + card_.page, card_.lines.size())) + " of " +
              std::to_string(card_.lines.size()) + ": s shows more; " + state;
    add(by_words(state, columns), false, note_lines);
  } else if (shown_) {
    add(wrapped(ask_name(*shown_) + ' ' + fate_, columns, goes_on), true, note_lines);
  }
  if (!away_.empty()) add(wrapped(away_, columns, goes_on), true, note_lines);
  add(wrapped(note_, columns, goes_on), true, note_lines);
  if (reason_) {
    const std::string typed = printable(*reason_) + '_';
    add(by_words(prompt_title, columns), false, note_lines);
    lines.push_back({std::string(fitting_end(typed, columns)), false});
  } else {
    add(by_words(keys_help, columns), false, note_lines);
  }
  return lines;
}

Watch::Frame Watch::frame(ScreenSize size, long long now) {
  Frame frame;
  if (size.rows < fewest_rows || size.columns < fewest_columns) {
    drawn_.clear();
    frame.lines.push_back({std::string(fitting("too small; q quits", size.columns)), true});
    return frame;
  }
  frame.lines.push_back({std::string(fitting(title(), size.columns)), true});
  const auto rows = static_cast<std::size_t>(size.rows);
  std::vector<Line> below;
  const auto measure = [&] {
    below = bottom(size.columns, now);
    const std::size_t most = rows - 1 - fewest_card_lines;
    if (below.size() > most) below.erase(below.begin(), below.end() - static_cast<std::ptrdiff_t>(most));
    return 1 + card_.page + below.size() <= rows;
  };
  if (shown_) {
    wrap_card(size.columns);
    card_.page = std::max<std::size_t>(1, card_.lines.size());
    if (!measure()) {
      for (card_.page = rows - 1 - below.size(); !measure() && card_.page > 1;)
        --card_.page;  // what is said below grows by that
    } else {
      card_.top = 0;
    }
    const std::size_t end = std::min(card_.top + card_.page, card_.lines.size());
    for (std::size_t i = card_.top; i < end; ++i) frame.lines.push_back({card_.lines[i], false});
    if (card_.top <= card_.seen) card_.seen = std::max(card_.seen, end);
    card_.whole = card_.whole || card_.seen == card_.lines.size();
    drawn_ = ask_identity(*shown_);
    frame.shows = drawn_ + std::to_string(card_.top) + '/' + std::to_string(card_.columns);
  } else {
    card_.page = 1;
    measure();
    frame.lines.push_back({"nothing is waiting for an answer", false});
    drawn_.clear();
  }
  frame.lines.insert(frame.lines.end(), below.begin(), below.end());
  return frame;
}

}  // namespace inbox_poller::poller::cli
