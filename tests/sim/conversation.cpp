#include "tests/sim/conversation.hpp"

#include "tests/sim/jsonl_files.hpp"

namespace inbox_poller::sim {

namespace {

/// Finds the message of a block, in which a line separator of Unicode begins a line.
void see_one(Machine& machine, const std::string& said, bool is_repeat) {
  constexpr std::string_view separator = "\xE2\x80\xA8";
  auto text = said;
  for (const auto& [known, chat] : machine.oracle().chat) {
    auto shown = known;
    if (const auto at = shown.find(separator); at != std::string::npos) shown.replace(at, separator.size(), "\n");
    if (shown == said) text = known;
  }
  if (!machine.oracle().chat.contains(text) && !text.starts_with("chat ")) return;  // a digest or a request
  machine.trace("the lead sees " + text);
  machine.oracle().lead_sees(machine.name(), text, is_repeat ? 2 : 1);
}

}  // namespace

void model_sees(Machine& machine, const std::string& text) {
  std::string said;
  bool is_repeat = false;
  each_line(text, [&](const std::string& line) {
    if (line.starts_with("<teammate-message ")) {
      said.clear();
      is_repeat = false;
    } else if (line == "</teammate-message>") {
      see_one(machine, said, is_repeat);
    } else if (said.empty() && line.starts_with("[may be a repeat: message ")) {
      is_repeat = true;
    } else {
      said += (said.empty() ? "" : "\n") + line;
    }
  });
}

}  // namespace inbox_poller::sim
