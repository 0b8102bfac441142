#include "handlers/digest.hpp"

#include <algorithm>

#include "handlers/kinds.hpp"
#include "handlers/status.hpp"
#include "handlers/text.hpp"
#include "handlers/unsent_report.hpp"

namespace inbox_poller::handlers {

namespace {

constexpr std::size_t most_senders = 100;
constexpr std::size_t longest_line = 500;

struct Sum {
  std::string sender;
  int idle = 0, assigned = 0, completed = 0;
  std::string last;  // the newest detail
  std::size_t unsent_bytes = 0;
  std::string unsent_key;  // of the newest
};

void add(Sum& sum, const WorkerStatus& status) {
  if (status.state == WorkerReport::assigned)
    ++sum.assigned;
  else if (status.state == WorkerReport::completed)
    ++sum.completed;
  else
    ++sum.idle;
  if (!status.detail.empty()) sum.last = status.detail;
}

std::string counted(int count, std::string_view one, std::string_view many) {
  if (count == 0) return {};
  return ", " + (count == 1 ? std::string(one) : std::to_string(count) + " " + std::string(many));
}

std::string line(const Sum& sum) {
  std::string text = counted(sum.assigned, "took a task", "tasks taken") +
                     counted(sum.completed, "finished a task", "tasks finished") +
                     counted(sum.idle, "idle once", "times idle");
  text = text.empty() ? "" : text.substr(2);
  if (!sum.last.empty()) text += "; last: " + sum.last;
  if (sum.unsent_bytes > 0) text += (text.empty() ? "" : "; ") + unsent_note(sum.unsent_bytes, sum.unsent_key);
  return one_line("- " + sum.sender + ": " + text, longest_line);
}

}  // namespace

std::string digest_text(const std::vector<DigestItem>& items) {
  const config::DeliverySettings quiet;
  std::vector<Sum> sums;
  for (const auto& item : items) {
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const Sum& other) { return other.sender == item.sender; });
    if (sum == sums.end()) sum = sums.insert(sums.end(), Sum{item.sender, 0, 0, 0, {}, 0, {}});
    if (item.unsent_bytes > 0) {
      sum->unsent_bytes += item.unsent_bytes;
      sum->unsent_key = item.key;
      continue;
    }
    std::visit(
        [&](const auto& payload) {
          if constexpr (StatusPayload<std::remove_cvref_t<decltype(payload)>>) add(*sum, status_of(payload, quiet));
        },
        item.payload);
  }
  std::string text = "Status of the team since the last digest (" + std::to_string(items.size()) +
                     (items.size() == 1 ? " message" : " messages") + "):";
  for (std::size_t i = 0; i < std::min(sums.size(), most_senders); ++i) text += "\n" + line(sums[i]);
  if (sums.size() > most_senders) text += "\n- and " + std::to_string(sums.size() - most_senders) + " more workers";
  return text;
}

}  // namespace inbox_poller::handlers
