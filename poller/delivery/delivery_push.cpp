// The active half of Delivery: pushing to programs, files and terminals.
#include <algorithm>
#include <chrono>

#include "poller/delivery/batch.hpp"
#include "poller/delivery/delivery.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using config::DeliveryMethod;

constexpr std::chrono::minutes point_again{5};
constexpr int most_pastes = 3;  // of one text that no hook confirms; a terminal full of repeats helps nobody

/// Removes spaces, because a composer may change tabs and line ends.
std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  return text;
}

}  // namespace

asio::awaitable<void> Delivery::push() {
  for (bool more = true; more;) more = co_await push_batch();  // g++ 12 traps on `while (co_await …) {}` under UBSan
}

asio::awaitable<bool> Delivery::push_batch() {
  const auto method = routes_.chosen();
  if (!method || !handlers::is_pushed(*method)) co_return false;
  if (*method == DeliveryMethod::tmux && !context_.config.delivery.tmux.payload) co_return co_await point();
  FetchOptions fetch;
  fetch.method = *method;
  fetch.receiver = config::to_string(*method);
  fetch.max = context_.config.delivery.batch;
  if (*method == DeliveryMethod::tmux && !co_await may_paste(fetch)) co_return routes_.is_backing_off(*method);
  auto offered = offer(fetch);
  if (!offered || offered->empty()) co_return false;
  if (auto sent = co_await deliver(*method, *offered); !sent) {
    routes_.failed(*method, sent.error());
    requeue(*offered, "delivery method " + fetch.receiver + " failed");
    co_return true;  // this method backs off; the next one gets the messages, labeled
  }
  routes_.works(*method);
  routes_.went(*method, fetch.receiver);
  co_return pushed(*method, *offered);
}

/// Checked before an offer, because an offer marks messages as possible repeats.
asio::awaitable<bool> Delivery::may_paste(FetchOptions fetch) {
  const auto waiting = ready_messages(fetch);
  if (!waiting || (waiting->rows.empty() && !waiting->digest_due)) co_return false;
  auto ready = co_await tmux_.ready(lead_.row().pane);
  if (!ready) routes_.failed(DeliveryMethod::tmux, ready.error());
  co_return ready.ok();
}

asio::awaitable<Status> Delivery::deliver(DeliveryMethod method, const std::vector<LeasedMessage>& messages) {
  if (method == DeliveryMethod::file) co_return deliver_file(files_, context_.config.delivery.file, messages);
  if (method == DeliveryMethod::tmux) {
    auto text = tmux_.text_for(messages);
    in_terminal_ = {without_spaces(text), keys_of(messages)};  // the hook may be faster than tmux's answer to us
    co_return co_await tmux_.paste(lead_.row().pane, std::move(text));
  }
  const auto exec = context_.config.delivery.exec;  // a copy: the configuration may be replaced during the wait
  co_return co_await deliver_exec(exec, context_.name, block(messages));
}

bool Delivery::pushed(DeliveryMethod method, const std::vector<LeasedMessage>& messages) {
  const bool pasted_often = std::any_of(messages.begin(), messages.end(),
                                        [](const LeasedMessage& message) { return message.attempts >= most_pastes; });
  if (method == DeliveryMethod::tmux && lead_.has_session() && !pasted_often) {
    // The lead's hooks confirm the prompt. Without a confirmation it is offered again, labeled.
    bool awaited = false;
    const auto until = context_.clock.steady() + context_.config.delivery.assume_busy_for;
    for (const auto& message : messages) awaited = leases_.set_end(message.id, until) || awaited;
    if (!awaited) return true;  // the hooks have confirmed it already, and its turn too
  } else if (auto taken = acknowledge(keys_of(messages),
                                      method == DeliveryMethod::exec ? Confirmation::acknowledged : Confirmation::assumed);
             !taken) {
    requeue(messages);
    return false;
  }
  if (method != DeliveryMethod::file) static_cast<void>(lead_.report(LeadEvent::batch_pushed));  // a file is not read at once
  return true;
}

asio::awaitable<bool> Delivery::point() {
  const auto now = context_.clock.steady();
  if (!is_open(lead_.state()) || (pointed_ && now - *pointed_ < point_again)) co_return false;
  // What still waits for replies would not be there for who follows the line.
  FetchOptions first;
  first.max = 1;
  const auto ready = ready_messages(first);
  if (!ready || (ready->rows.empty() && !ready->digest_due)) co_return false;
  const auto counts = context_.ledger.deliveries().counts(context_.name);
  const auto waiting = counts ? counts->queued + (is_digest_due(false) ? 1 : 0) : 0;
  if (waiting == 0) co_return false;
  auto text = tmux_.pointer(static_cast<std::size_t>(waiting));
  auto sent = co_await tmux_.paste(lead_.row().pane, std::move(text));
  if (!sent) {
    routes_.failed(DeliveryMethod::tmux, sent.error());
    co_return false;
  }
  routes_.works(DeliveryMethod::tmux);
  pointed_ = now;
  routes_.went(DeliveryMethod::tmux);
  static_cast<void>(lead_.report(LeadEvent::batch_pushed));
  co_return false;
}

void Delivery::prompt_seen(const std::string& prompt) {
  if (in_terminal_.keys.empty() || without_spaces(prompt).find(in_terminal_.text) == std::string::npos) return;
  static_cast<void>(acknowledge(in_terminal_.keys));  // on failure the lease expires and the messages return, labeled
  in_terminal_ = {};
}

}  // namespace inbox_poller::poller
