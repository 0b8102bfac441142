#include "poller/control/shorten.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "handlers/text.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

constexpr std::size_t never_cut = 4096;  // ids, names and sentences
constexpr std::size_t longest_escape = 6;

struct LongText {
  json::string* text;
  std::size_t size;  // in the line
};

/// Returns at least the size of a text in the line, where some characters are escaped.
std::size_t size_of(std::string_view text) {
  std::size_t size = 2;
  for (const auto c : text) {
    const auto byte = static_cast<unsigned char>(c);
    size += byte < 0x20 ? longest_escape : byte >= 0x80 ? 3 : c == '"' || c == '\\' ? 2 : 1;
  }
  return size;
}

std::size_t add_up(json::value& value, std::vector<LongText>& long_texts) {
  constexpr std::size_t small = 24;  // a number, or the marks around a member
  std::size_t size = small;
  if (auto* object = value.if_object())
    for (auto& member : *object) size += member.key().size() + add_up(member.value(), long_texts);
  if (auto* array = value.if_array())
    for (auto& element : *array) size += add_up(element, long_texts);
  auto* text = value.if_string();
  if (text == nullptr) return size;
  size += size_of(*text);
  if (text->size() > never_cut) long_texts.push_back({text, size - small});
  return size;
}

}  // namespace

void shorten(json::object& answer, std::size_t most) {
  std::vector<LongText> long_texts;
  std::size_t size = 0;
  for (auto& member : answer) size += member.key().size() + add_up(member.value(), long_texts);
  if (size <= most) return;
  std::ranges::sort(long_texts, {}, &LongText::size);
  for (const auto& one : long_texts) size -= one.size;
  std::size_t room = most - std::min(most, size);
  for (std::size_t i = 0; i < long_texts.size(); ++i) {
    const auto& [text, its] = long_texts[i];
    const auto share = std::min(its, room / (long_texts.size() - i));
    room -= share;
    if (share == its) continue;
    const std::string kept(handlers::beginning(*text, share / longest_escape));
    *text = "(CUT: only the first " + std::to_string(kept.size()) + " of " + std::to_string(text->size()) +
            " bytes are shown here) " + kept;
  }
}

}  // namespace inbox_poller::poller
