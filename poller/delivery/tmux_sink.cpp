#include "poller/delivery/tmux_sink.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;

std::string TmuxSink::unavailable(const std::string& told) const {
  const auto& pane = context_.config.delivery.tmux.pane.empty() ? told : context_.config.delivery.tmux.pane;
  return pane.empty() ? "no pane of the lead is known (tmux.pane)" : "";
}

std::string TmuxSink::text_for(const std::vector<OutgoingMessage>& messages) { return paste_safe(block(messages)); }

std::string TmuxSink::pointer(std::size_t count) const {
  return std::to_string(count) + (count == 1 ? " message" : " messages") +
         " of your team wait. Read them with: inbox-poller recv --team " + context_.name;
}

asio::awaitable<Status> TmuxSink::paste(std::string, std::string) {
  co_return Error{"tmux.none", "not built yet"};
}

std::string paste_safe(std::string_view text) {
  std::string safe;
  for (const char c : text)
    if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20) safe += c;
  return safe;
}

}  // namespace inbox_poller::poller
