// The half of Courier that acts by itself: pushing to programs, files and terminals.
#include <algorithm>
#include <chrono>

#include "poller/delivery/batch.hpp"
#include "poller/delivery/courier.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using config::Rung;

constexpr std::chrono::minutes point_again{5};
constexpr int most_pastes = 3;  // of one text that no hook confirms; a terminal full of repeats helps nobody

/// A composer may make other spaces of tabs and line ends.
std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  return text;
}

}  // namespace

asio::awaitable<void> Courier::push() {
  for (bool more = true; more;) more = co_await push_batch();  // g++ 12 traps on `while (co_await …) {}` under UBSan
}

asio::awaitable<bool> Courier::push_batch() {
  const auto rung = chosen();
  if (!rung || !handlers::is_pushed(*rung)) co_return false;
  if (*rung == Rung::tmux && !context_.config.delivery.tmux.payload) co_return co_await point();
  Take take;
  take.rung = *rung;
  take.sink = config::to_string(*rung);
  take.max = context_.config.delivery.batch;
  if (*rung == Rung::tmux && !co_await may_paste(take)) co_return backoff_.contains(*rung);
  auto offered = offer(take);
  if (!offered || offered->empty()) co_return false;
  if (auto sent = co_await deliver(*rung, *offered); !sent) {
    failed(*rung, sent.error());
    give_back(*offered, "the way " + take.sink + " failed");
    co_return true;  // this way rests now: the next one, if there is one, gets them, labelled
  }
  backoff_.erase(*rung);
  tell_fall(*rung);
  last_sink_ = take.sink;
  co_return pushed(*rung, *offered);
}

/// Looked at before anything is offered: what was offered says from then on that it may be a repeat.
asio::awaitable<bool> Courier::may_paste(Take take) {
  const auto waiting = offerable(take);
  if (!waiting || (waiting->rows.empty() && !waiting->digest_due)) co_return false;
  auto ready = co_await tmux_.ready(row_.pane);
  if (!ready) failed(Rung::tmux, ready.error());
  co_return ready.ok();
}

asio::awaitable<Status> Courier::deliver(Rung rung, const std::vector<OutgoingMessage>& messages) {
  if (rung == Rung::file) co_return deliver_file(files_, context_.config.delivery.file, messages);
  if (rung == Rung::tmux) {
    auto text = tmux_.text_for(messages);
    pasted_ = {without_spaces(text), keys_of(messages)};  // its hook may be faster than tmux's answer to us
    co_return co_await tmux_.paste(row_.pane, std::move(text));
  }
  const auto exec = context_.config.delivery.exec;  // a copy: the configuration may be replaced while we wait
  co_return co_await deliver_exec(exec, context_.name, block(messages));
}

bool Courier::pushed(Rung rung, const std::vector<OutgoingMessage>& messages) {
  const bool pasted_often = std::any_of(messages.begin(), messages.end(),
                                        [](const OutgoingMessage& message) { return message.attempts >= most_pastes; });
  if (rung == Rung::tmux && !row_.session.empty() && !pasted_often) {
    // Its hooks tell when the prompt went in; if they do not, it is offered again, labelled.
    bool awaited = false;
    for (const auto& message : messages) {
      const auto lent = lent_.find(message.id);
      if (lent == lent_.end()) continue;
      lent->second.until = context_.clock.steady() + context_.config.delivery.presumed_busy;
      awaited = true;
    }
    if (!awaited) return true;  // they have told already, of its turn too
  } else if (auto taken = acknowledge(keys_of(messages),
                                      rung == Rung::exec ? Confirmation::acknowledged : Confirmation::assumed);
             !taken) {
    give_back(messages);
    return false;
  }
  if (rung != Rung::file) static_cast<void>(report(LeadEvent::batch_pushed));  // nobody looks into the file at once
  return true;
}

asio::awaitable<bool> Courier::point() {
  const auto now = context_.clock.steady();
  if (!is_open(state_) || (pointed_ && now - *pointed_ < point_again)) co_return false;
  const auto counts = context_.ledger.deliveries().counts(context_.name);
  const auto waiting = counts ? counts->queued + (is_digest_due(false) ? 1 : 0) : 0;
  if (waiting == 0) co_return false;
  auto text = tmux_.pointer(static_cast<std::size_t>(waiting));
  auto sent = co_await tmux_.paste(row_.pane, std::move(text));
  if (!sent) {
    failed(Rung::tmux, sent.error());
    co_return false;
  }
  backoff_.erase(Rung::tmux);
  pointed_ = now;
  tell_fall(Rung::tmux);
  static_cast<void>(report(LeadEvent::batch_pushed));
  co_return false;
}

void Courier::prompt_seen(const std::string& prompt) {
  if (pasted_.keys.empty() || without_spaces(prompt).find(pasted_.text) == std::string::npos) return;
  static_cast<void>(acknowledge(pasted_.keys));  // or its lease runs out, and it comes again, labelled
  pasted_ = {};
}

}  // namespace inbox_poller::poller
