#include "poller/cli/lead_run/daemon_link.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller::cli {
namespace json = boost::json;
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{50};
constexpr milliseconds longest_pause{1000};
/// A daemon that restarts is no news, and neither is our own connection that it has not seen closing yet.
constexpr milliseconds unremarkable{500};
constexpr milliseconds one_recv{60'000};
constexpr std::size_t most_judged_at_once = 16;  // connections; the daemon has 64
constexpr SteadyTime never = SteadyTime::max();

SteadyTime now() { return std::chrono::steady_clock::now(); }

/// Refusals that another moment may not repeat.
bool may_pass(std::string_view code) {
  return code.starts_with("control.") || code.starts_with("ledger.") || code.starts_with("team.");
}

}  // namespace

json::object DaemonLink::request(std::string_view verb) const {
  json::object request{{"verb", verb}};
  if (!team_.empty()) request["team"] = team_;
  return request;
}

void DaemonLink::report(std::string_view event, const std::string& session) {
  event_ = event;
  session_ = session;
  told_ = false;
}

void DaemonLink::acknowledge(const std::vector<std::string>& keys, bool assumed) {
  acknowledgements_.push_back({keys, assumed});
}

void DaemonLink::give_back() {
  batch_.reset();
  if (mail_) lose("");
}

void DaemonLink::judge(JudgedCall call) {
  auto id = call.id;
  judging_.try_emplace(std::move(id), Judging{std::move(call), {}, {}});
}

void DaemonLink::step(bool wants_batch) {
  if (!mail_ && now() >= again_at_) connect();
  if (mail_) read_mail();
  if (side_) read_side();
  if (side_) write_side();
  if (mail_) write_mail(wants_batch);
  // The answers erase, so by id.
  std::vector<std::string> ids;
  for (const auto& [id, judging] : judging_) ids.push_back(id);
  for (const auto& id : ids) {
    const auto found = judging_.find(id);
    if (found == judging_.end()) continue;
    if (found->second.client)
      read_judge(found->second);
    else
      ask_judge(found->second);
  }
}

void DaemonLink::connect() {
  auto mail = ControlClient::connect(socket_);
  if (!mail) return lose(mail.error().message);
  auto side = ControlClient::connect(socket_);
  if (!side) return lose(side.error().message);
  auto attach = request("attach");
  attach["rung"] = "stdin";
  static_cast<void>(mail->post(attach));
  mail_ = *std::move(mail);
  side_ = *std::move(side);
  mail_state_ = Mail::attaching;
}

void DaemonLink::lose(const std::string& why) {
  mail_.reset();
  side_.reset();
  mail_state_ = Mail::closed;
  side_state_ = Side::free;
  told_ = event_.empty();
  if (!lost_at_) {
    lost_at_ = now();
    pause_ = first_pause;
  }
  again_at_ = now() + pause_;
  pause_ = std::min(pause_ * 2, longest_pause);
  if (said_lost_ || why.empty() || now() - *lost_at_ < unremarkable) return;
  said_lost_ = true;
  tell_(why + "; the lead goes on, and gets its messages when that has changed");
}

void DaemonLink::read_mail() {
  auto answer = mail_->take();
  if (!answer) return lose(answer.error().message);
  if (!*answer) return;
  if (!flag_of(**answer, "ok")) {
    // Messages that are too long together go one by one.
    if (raw_text_of(**answer, "code") == "answer.too_long") most_messages_ = 1;
    return lose(raw_text_of(**answer, "message"));
  }
  if (mail_state_ == Mail::attaching)
    attached(**answer);
  else
    received(**answer);
  mail_state_ = Mail::ready;
}

void DaemonLink::attached(const json::object& answer) {
  if (said_lost_) tell_("the daemon serves the lead again");
  said_lost_ = false;
  lost_at_.reset();
  permissions_ = flag_of(answer, "permissions");
  if (permissions_ && !prompts_come_ && !std::exchange(said_no_prompts_, true))
    tell_(
        "[lead] permissions is set, and the lead was started without --permission-prompt-tool stdio: it decides by "
        "itself, and nobody is asked; start it again");
  if (!permissions_) judging_.clear();  // somebody else's to answer
}

void DaemonLink::received(const json::object& answer) {
  const auto messages = objects_of(answer, "messages");
  if (messages.empty()) return;
  Batch batch;
  batch.block = raw_text_of(answer, "block");
  std::string seed;
  for (const auto* message : messages) {
    batch.keys.push_back(raw_text_of(*message, "message_key"));
    batch.lines.push_back(printable_json(json::serialize(*message)));
    seed += batch.keys.back() + " " + std::to_string(number_of(*message, "attempts")) + "\n";
  }
  batch.uuid = schema::uuid_from(seed);
  batch_ = std::move(batch);
  most_messages_ = 20;
}

void DaemonLink::read_side() {
  auto answer = side_->take();
  if (!answer) return lose(answer.error().message);
  if (!*answer) return;
  if (!flag_of(**answer, "ok")) return lose(raw_text_of(**answer, "message"));
  if (side_state_ == Side::acknowledging && !acknowledgements_.empty()) acknowledgements_.pop_front();
  side_state_ = Side::free;
}

void DaemonLink::write_side() {
  const bool stands = mail_state_ == Mail::ready || mail_state_ == Mail::receiving;
  if (!stands || side_state_ != Side::free) return;
  if (!acknowledgements_.empty()) {
    const auto& first = acknowledgements_.front();
    auto ack = request("ack");
    ack["keys"] = json::array(first.keys.begin(), first.keys.end());
    ack["assumed"] = first.assumed;
    static_cast<void>(side_->post(ack));
    side_state_ = Side::acknowledging;
  } else if (!told_) {
    auto report = request("lead");
    report["event"] = event_;
    if (!session_.empty()) report["session"] = session_;
    static_cast<void>(side_->post(report));
    side_state_ = Side::reporting;
    told_ = true;
  }
}

void DaemonLink::write_mail(bool wants_batch) {
  const bool all_told = told_ && acknowledgements_.empty() && side_state_ == Side::free;
  if (!wants_batch || batch_ || mail_state_ != Mail::ready || !all_told) return;
  auto recv = request("recv");
  recv["wait_ms"] = one_recv.count();
  recv["max"] = most_messages_;
  static_cast<void>(mail_->post(recv));
  mail_state_ = Mail::receiving;
}

void DaemonLink::ask_judge(Judging& judging) {
  const bool stands = mail_state_ == Mail::ready || mail_state_ == Mail::receiving;
  const auto asked =
      std::count_if(judging_.begin(), judging_.end(), [](const auto& one) { return one.second.client.has_value(); });
  if (!stands || !permissions_ || now() < judging.again_at || static_cast<std::size_t>(asked) >= most_judged_at_once)
    return;
  auto client = ControlClient::connect(socket_);
  judging.again_at = now() + longest_pause;
  if (!client) return;
  auto judge = request("judge");
  judge["id"] = judging.call.id;
  judge["tool"] = judging.call.tool;
  judge["input"] = judging.call.input;
  judge["cwd"] = judging.call.cwd;
  judge["wait"] = true;
  if (const auto posted = client->post(judge); !posted)
    return deny(judging.call.id, "The call could not be put before the rules: " + posted.error().message);
  judging.client = *std::move(client);
}

void DaemonLink::read_judge(Judging& judging) {
  auto answer = judging.client->take();
  if (answer && !*answer) return;
  judging.client.reset();
  if (answer) judged(judging.call, **answer);  // otherwise it is asked again when the daemon is there
}

/// Everything that is not plainly a yes is not one.
void DaemonLink::judged(const JudgedCall& call, const json::object& answer) {
  const auto reason = raw_text_of(answer, "reason");
  const auto decision = raw_text_of(answer, "decision");
  if (!flag_of(answer, "ok")) {
    if (may_pass(raw_text_of(answer, "code"))) return;
    return deny(call.id, "The call could not be judged: " + raw_text_of(answer, "message"));
  }
  if (decision == "deny") return deny(call.id, reason.empty() ? "Denied" : reason);
  if (decision == "allow") {
    const auto updated = raw_text_of(answer, "updated_input");
    judgements_.push_back({call.id, true, updated.empty() ? call.input : updated, {}});
  }
  judging_.erase(std::string(call.id));  // "ask": not ours to answer
}

void DaemonLink::deny(const std::string& id, std::string reason) {
  judgements_.push_back({id, false, {}, std::move(reason)});
  judging_.erase(std::string(id));
}

std::optional<Batch> DaemonLink::take_batch() { return std::exchange(batch_, std::nullopt); }

std::vector<Judgement> DaemonLink::take_judgements() { return std::exchange(judgements_, {}); }

SteadyTime DaemonLink::watch(std::vector<pollfd>& descriptors) const {
  SteadyTime wake = mail_ ? never : again_at_;
  const auto add = [&](const std::optional<ControlClient>& client) {
    if (!client) return;
    const auto events = static_cast<short>(POLLIN | (client->unsent() ? POLLOUT : 0));
    descriptors.push_back({.fd = client->descriptor(), .events = events, .revents = 0});
  };
  add(mail_);
  add(side_);
  for (const auto& [id, judging] : judging_) {
    add(judging.client);
    if (!judging.client && permissions_ && mail_)
      wake = std::min(wake, std::max(judging.again_at, now() + first_pause));
  }
  return wake;
}

bool DaemonLink::settled() const {
  return acknowledgements_.empty() && (!mail_ || (told_ && side_state_ == Side::free));
}

}  // namespace inbox_poller::poller::cli
