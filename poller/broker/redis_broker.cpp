#include "poller/broker/redis_broker.hpp"

#include <algorithm>
#include <utility>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "poller/broker/redis_scripts.hpp"
#include "poller/mailbox/envelopes.hpp"

namespace inbox_poller::poller {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds lease_kept{10'000};
constexpr milliseconds beat_kept{15'000};
constexpr milliseconds mark_kept = std::chrono::hours(24);
constexpr milliseconds request_kept = std::chrono::hours(24 * 7);
constexpr milliseconds read_kept = std::chrono::minutes(15);
constexpr milliseconds new_nodes_within{1000};  // longest delay of the first frame of a new node
constexpr std::size_t most_in_script = 100;
constexpr std::size_t most_bytes_in_script = std::size_t{1} << 20;
constexpr std::size_t most_bytes_in_flight = std::size_t{4} << 20;  // of scripts in one write
constexpr std::size_t most_nodes = 1000;

std::string text_of(milliseconds time) { return std::to_string(time.count()); }

void add_fields(const Frame& frame, std::vector<std::string>& to) {
  to.insert(to.end(), {"k", frame.key.value, "o", frame.to, "f", frame.from, "y", frame.type, "q", frame.request, "e",
                       frame.entry, "n", std::to_string(frame.number), "p", std::to_string(frame.after), "t",
                       std::to_string(frame.at_ms), "j", std::to_string(frame.joined_ms), "a",
                       std::to_string(frame.attempt)});
}
constexpr const char* fields_of_one = "22";

ReceivedFrame frame_of(const RedisReply& entry, const std::string& address, const std::string& node) {
  ReceivedFrame frame;
  frame.address = address;
  frame.node = node;
  frame.id = entry.at(0).text;
  const auto& fields = entry.at(1).parts;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const std::string& value = fields[i + 1].text;
    const std::string& name = fields[i].text;
    if (name == "k") frame.key.value = value;
    if (name == "o") frame.to = value;
    if (name == "f") frame.from = value;
    if (name == "y") frame.type = value;
    if (name == "q") frame.request = value;
    if (name == "e") frame.entry = value;
    if (name == "n") frame.number = fields[i + 1].as_number();
    if (name == "p") frame.after = fields[i + 1].as_number();
    if (name == "t") frame.at_ms = fields[i + 1].as_number();
    if (name == "j") frame.joined_ms = fields[i + 1].as_number();
    if (name == "a") frame.attempt = static_cast<int>(std::clamp(fields[i + 1].as_number(), 0LL, 1'000'000LL));
  }
  return frame;
}

LeaderLease lease_of(const RedisReply& reply) {
  return {reply.at(0).as_number() == 1, reply.at(1).text, reply.at(2).as_number(),
          milliseconds(std::clamp(reply.at(3).as_number(), 0LL, lease_kept.count() * 1LL))};
}

/// Last part of a frame's marker key: one marker per attempt.
std::string marked(const Frame& frame) { return frame.key.value + ':' + std::to_string(frame.attempt); }

/// Decodes the frames in the reply of a read. Skips streams that are not in `sources`.
std::vector<ReceivedFrame> letters_in(const RedisReply& reply, const auto& sources) {
  std::vector<ReceivedFrame> frames;
  for (const RedisReply& stream : reply.parts) {
    const auto source = sources.find(stream.at(0).text);
    if (source == sources.end()) continue;
    for (const RedisReply& entry : stream.at(1).parts)
      frames.push_back(frame_of(entry, source->second.address, source->second.node));
  }
  return frames;
}

}  // namespace

RedisBroker::RedisBroker(const asio::any_io_executor& executor, Settings settings)
    : settings_(std::move(settings)),
      keys_(settings_.address.team),
      calls_(executor, settings_.address, settings_.most_bytes),
      reader_(executor, settings_.address, settings_.most_bytes) {}

// --- writing

asio::awaitable<Result<std::vector<PutOutcome>>> RedisBroker::put(std::vector<Frame> frames, std::int64_t epoch) {
  std::vector<PutOutcome> outcomes;
  for (std::size_t next = 0; next < frames.size();) {
    std::vector<ScriptCall> flight;
    for (std::size_t bytes = 0; next < frames.size() && bytes < most_bytes_in_flight;) {
      ScriptCall call{{}, {epoch == 0 ? "" : std::to_string(epoch) + " " + settings_.node, text_of(mark_kept), fields_of_one}};
      const std::size_t first = next, before = bytes;
      while (next < frames.size() && next - first < most_in_script &&
             (next == first || bytes - before < most_bytes_in_script)) {
        const Frame& frame = frames[next++];
        call.keys.push_back(keys_.stream(frame.address, settings_.node));
        call.keys.push_back(keys_.mark(settings_.node, frame.address, marked(frame)));
        add_fields(frame, call.arguments);
        bytes += frame.entry.size();
      }
      if (epoch != 0) call.keys.push_back(keys_.of("epoch"));
      flight.push_back(std::move(call));
    }
    CO_TRY(const auto replies, co_await calls_.call_all(scripts::append(), std::move(flight), settings_.call_within));
    for (const RedisReply& reply : replies) {
      if (reply.at(0).as_number() == -1) {  // later frames too: an epoch never decreases
        outcomes.push_back({PutOutcome::What::fenced, reply.at(1).as_number()});
        co_return outcomes;
      }
      for (const RedisReply& one : reply.parts)
        outcomes.push_back({one.as_number() == 1 ? PutOutcome::What::appended : PutOutcome::What::was_there, 0});
    }
  }
  co_return outcomes;
}

asio::awaitable<Result<std::vector<AnswerOutcome>>> RedisBroker::answer(std::vector<Frame> frames,
                                                                          std::int64_t epoch) {
  std::vector<ScriptCall> flight;
  for (const Frame& frame : frames) {
    ScriptCall call{
        {keys_.of("epoch"), keys_.request(frame.type, frame.request), keys_.stream(frame.address, settings_.node),
         keys_.mark(settings_.node, frame.address, marked(frame))},
        {std::to_string(epoch), settings_.node, frame.entry, text_of(mark_kept), text_of(request_kept)}};
    add_fields(frame, call.arguments);
    flight.push_back(std::move(call));
  }
  CO_TRY(const auto replies, co_await calls_.call_all(scripts::answer(), std::move(flight), settings_.call_within));
  std::vector<AnswerOutcome> outcomes;
  for (const RedisReply& reply : replies) {
    auto& outcome = outcomes.emplace_back();
    switch (reply.at(0).as_number()) {
      case 1: outcome.what = AnswerOutcome::What::decided; break;
      case 2: outcome.what = AnswerOutcome::What::was_ours; break;
      case -1:  // later answers too
        outcome.what = AnswerOutcome::What::fenced;
        outcome.epoch = reply.at(1).as_number();
        co_return outcomes;
      default:
        outcome.what = AnswerOutcome::What::other;
        outcome.other = {reply.at(1).text, reply.at(2).text, reply.at(3).as_number()};
    }
  }
  co_return outcomes;
}

asio::awaitable<Result<std::vector<FinalAnswer>>> RedisBroker::answered(
    std::vector<std::pair<std::string, std::string>> requests) {
  std::vector<RedisCommand> all;
  std::vector<FinalAnswer> answers;
  for (const auto& [kind, request] : requests)
    all.push_back({"HMGET", keys_.request(kind, request), "answer", "by", "epoch"});
  if (all.empty()) co_return answers;
  CO_TRY(const auto replies, co_await calls_.call_all(std::move(all), settings_.call_within));
  for (const RedisReply& one : replies) {
    if (one.kind == RedisReply::Kind::error) co_return error_of(one);
    answers.push_back({one.at(0).text, one.at(1).text, one.at(2).as_number()});
  }
  co_return answers;
}

// --- reading

asio::awaitable<Result<std::vector<std::string>>> RedisBroker::known_nodes() {
  if (!settings_.team.empty()) co_return settings_.team;
  RedisCommand request{"SMEMBERS", keys_.of("nodes")};
  CO_TRY(const auto reply, co_await calls_.call(std::move(request), settings_.call_within));
  std::vector<std::string> names;
  for (const RedisReply& one : reply.parts)
    if (is_actor_name(one.text) && names.size() < most_nodes) names.push_back(one.text);
  std::sort(names.begin(), names.end());
  co_return names;
}

asio::awaitable<Status> RedisBroker::find_sources(bool as_leader) {
  CO_TRY(const auto nodes, co_await known_nodes());
  if (std::exchange(reads_as_leader_, as_leader) != as_leader)
    std::erase_if(sources_, [](const auto& one) { return one.second.address == lead_address; });
  std::vector<std::string> addresses{node_address(settings_.node)};
  if (as_leader) addresses.emplace_back(lead_address);
  for (const std::string& address : addresses)
    for (const std::string& node : nodes) {
      const std::string stream = keys_.stream(address, node);
      if (sources_.contains(stream)) continue;
      RedisCommand create{"XGROUP", "CREATE", stream, "g", "0", "MKSTREAM"};
      const auto made = co_await calls_.call(std::move(create), settings_.call_within);
      if (!made && made.error().message.find("BUSYGROUP") == std::string::npos) co_return made.error();
      sources_[stream] = {address, node};
    }
  co_return Done{};
}

/// Claims entries that an earlier process of this node, or an earlier leader, received and never acknowledged.
asio::awaitable<Result<std::vector<ReceivedFrame>>> RedisBroker::take_up(Source& source, std::size_t most) {
  const std::string stream = keys_.stream(source.address, source.node);
  std::vector<ReceivedFrame> frames;
  const std::string from = source.taken_up.empty() ? "-" : "(" + source.taken_up;
  RedisCommand request{"XPENDING", stream, "g", from, "+", std::to_string(std::min(most, source.at_once))};
  CO_TRY(const auto pending, co_await calls_.call(std::move(request), settings_.call_within));
  if (pending.parts.empty()) {
    source.is_new = true;
    co_return frames;
  }
  RedisCommand claim{"XCLAIM", stream, "g", settings_.node, "0"};
  for (const RedisReply& one : pending.parts) claim.push_back(one.at(0).text);
  const auto claimed = co_await calls_.call(std::move(claim), settings_.call_within);
  if (!claimed) {  // reply too large or too slow: claim fewer entries, at last one by one
    const bool alone = pending.parts.size() == 1 && claimed.error().message == RedisReader::too_much;
    source.at_once = std::max<std::size_t>(pending.parts.size() / 8, 1);
    if (!alone) co_return claimed.error();
    frames.emplace_back().address = source.address;  // unreadable: report its address, node and id only
    frames.back().node = source.node;
    frames.back().id = source.taken_up = pending.parts.front().at(0).text;
    co_return frames;
  }
  source.at_once = std::min(source.at_once * 2, most_taken_up);
  source.taken_up = pending.parts.back().at(0).text;
  for (const RedisReply& entry : claimed->parts)
    if (!entry.is_nothing()) frames.push_back(frame_of(entry, source.address, source.node));
  co_return frames;
}

asio::awaitable<Result<std::vector<ReceivedFrame>>> RedisBroker::wait_for_news(std::size_t most, milliseconds wait) {
  const std::vector<ReceivedFrame> none;
  RedisCommand read{"XREADGROUP", "GROUP", "g", settings_.node, "COUNT", std::to_string(most)};
  if (wait.count() > 0) read.insert(read.end(), {"BLOCK", text_of(wait)});
  read.emplace_back("STREAMS");
  for (const auto& [stream, source] : sources_) read.push_back(stream);
  read.insert(read.end(), sources_.size(), ">");
  const auto reply = co_await reader_.call(std::move(read), wait + settings_.call_within);
  if (reply) co_return letters_in(*reply, sources_);
  give_pending_again();  // entries that Redis sent may have been lost with the reply
  if (reply.error().code == "redis.interrupted") co_return none;
  if (reply.error().message.find("NOGROUP") != std::string::npos) {  // Redis was emptied
    sources_.clear();
    co_return none;
  }
  co_return reply.error();
}

asio::awaitable<Result<std::vector<ReceivedFrame>>> RedisBroker::receive(bool as_leader, std::size_t most,
                                                                           milliseconds wait) {
  const std::vector<ReceivedFrame> none;
  is_woken_ = false;
  most = std::max<std::size_t>(most, 1);
  const auto until = steady_clock::now() + wait;
  for (;;) {
    CO_TRY(co_await find_sources(as_leader));
    for (auto& [stream, source] : sources_) {
      if (source.is_new) continue;
      auto frames = co_await take_up(source, most);
      if (!frames && frames.error().message.find("NOGROUP") != std::string::npos) break;  // wait_for_news() resets
      if (!frames || !frames->empty()) co_return frames;
    }
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    if (sources_.empty()) {  // no node has sent a heartbeat yet
      if (left.count() <= 0 || is_woken_) co_return none;
      asio::steady_timer rest(co_await asio::this_coro::executor, std::min(left, milliseconds(100)));
      co_await rest.async_wait(asio::use_awaitable);
      continue;
    }
    if (is_woken_) co_return none;
    auto frames = co_await wait_for_news(most, std::clamp(left, milliseconds(0), new_nodes_within));
    if (!frames || !frames->empty() || is_woken_ || steady_clock::now() >= until) co_return frames;
  }
}

void RedisBroker::wake() {
  is_woken_ = true;
  reader_.interrupt();
  calls_.try_now();
}

asio::awaitable<Status> RedisBroker::acknowledge(std::vector<ReceivedFrame> frames) {
  std::map<std::string, std::vector<std::string>> by_stream;
  for (const ReceivedFrame& frame : frames) by_stream[keys_.stream(frame.address, frame.node)].push_back(frame.id);
  for (const auto& [stream, ids] : by_stream) {
    for (std::size_t next = 0; next < ids.size(); next += 1000) {
      std::vector<std::string> arguments{text_of(read_kept)};
      const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(next + 1000, ids.size()));
      arguments.insert(arguments.end(), ids.begin() + static_cast<std::ptrdiff_t>(next), end);
      std::vector<std::string> keys{stream};
      const auto settled = co_await calls_.call(scripts::ack(), std::move(keys), std::move(arguments), settings_.call_within);
      if (settled) continue;
      give_pending_again();  // unacknowledged entries would block trimming; redeliver them
      co_return settled.error();
    }
  }
  co_return Done{};
}

void RedisBroker::give_pending_again() {
  for (auto& [stream, source] : sources_) {
    source.is_new = false;
    source.taken_up.clear();
  }
}

// --- lease

asio::awaitable<Result<RedisReply>> RedisBroker::lease_call(const RedisScript& script,
                                                              std::vector<std::string> arguments) {
  std::vector<std::string> keys{keys_.of("leader"), keys_.of("epoch"), keys_.of("born")};
  co_return co_await calls_.call(script, std::move(keys), std::move(arguments), settings_.call_within);
}

asio::awaitable<Result<LeaderLease>> RedisBroker::elect(std::int64_t epoch_at_least) {
  std::vector<std::string> arguments{settings_.node, text_of(lease_kept), std::to_string(epoch_at_least), fresh_id()};
  CO_TRY(const auto reply, co_await lease_call(scripts::elect(), std::move(arguments)));
  co_return lease_of(reply);
}

asio::awaitable<Result<LeaderLease>> RedisBroker::renew(std::int64_t epoch) {
  std::vector<std::string> arguments{settings_.node, text_of(lease_kept), std::to_string(epoch)};
  CO_TRY(const auto reply, co_await lease_call(scripts::renew(), std::move(arguments)));
  co_return lease_of(reply);
}

asio::awaitable<Status> RedisBroker::resign(std::int64_t epoch) {
  std::vector<std::string> arguments{settings_.node, std::to_string(epoch)};
  const auto reply = co_await lease_call(scripts::resign(), std::move(arguments));
  co_return reply ? Status(Done{}) : Status(reply.error());
}

asio::awaitable<Result<LeaderLease>> RedisBroker::leader() {
  std::vector<RedisCommand> all;
  all.push_back({"GET", keys_.of("leader")});
  all.push_back({"PTTL", keys_.of("leader")});
  all.push_back({"GET", keys_.of("epoch")});
  CO_TRY(const auto replies, co_await calls_.call_all(std::move(all), settings_.call_within));
  for (const RedisReply& one : replies)
    if (one.kind == RedisReply::Kind::error) co_return error_of(one);
  LeaderLease lease;
  lease.holder = replies[0].text;
  lease.left = milliseconds(std::clamp(replies[1].as_number(), 0LL, lease_kept.count() * 1LL));
  const RedisReply epoch{.text = replies[2].text.substr(0, replies[2].text.find(' '))};  // "EPOCH HOST"
  lease.epoch = epoch.as_number();
  lease.ours = lease.holder == settings_.node;
  co_return lease;
}

// --- heartbeats

asio::awaitable<Status> RedisBroker::beat(Heartbeat told) {
  std::vector<RedisCommand> all;
  all.push_back({"SET", keys_.node(settings_.node), told.told, "PX", text_of(beat_kept)});
  all.push_back({"SADD", keys_.of("nodes"), settings_.node});
  CO_TRY(const auto replies, co_await calls_.call_all(std::move(all), settings_.call_within));
  for (const RedisReply& one : replies)
    if (one.kind == RedisReply::Kind::error) co_return error_of(one);
  co_return Done{};
}

asio::awaitable<Result<std::vector<Heartbeat>>> RedisBroker::nodes() {
  CO_TRY(const auto names, co_await known_nodes());
  std::vector<RedisCommand> all;
  for (const std::string& one : names)
    all.push_back({"GETRANGE", keys_.node(one), "0", std::to_string(longest_beat)});  // one byte over the limit
  std::vector<Heartbeat> beats;
  if (names.empty()) co_return beats;
  CO_TRY(const auto replies, co_await calls_.call_all(std::move(all), settings_.call_within));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const RedisReply& told = replies[i];
    if (told.kind == RedisReply::Kind::error) co_return error_of(told);
    if (told.text.empty() || told.text.size() > longest_beat) continue;
    beats.push_back({names[i], told.text});
  }
  co_return beats;
}

asio::awaitable<Result<std::string>> RedisBroker::place() {
  std::vector<RedisCommand> all;
  all.push_back({"INFO", "server", "replication", "persistence", "memory"});
  all.push_back({"GET", keys_.of("born")});
  CO_TRY(const auto replies, co_await calls_.call_all(std::move(all), settings_.call_within));
  for (const RedisReply& one : replies)
    if (one.kind == RedisReply::Kind::error) co_return error_of(one);
  const BrokerFacts facts = BrokerFacts::read(replies[0].text);
  CO_TRY(facts.usable(settings_.address.not_durable_is_meant));
  co_return facts.run_id + '/' + facts.replication_id + '/' + (replies[1].text.empty() ? "empty" : replies[1].text);
}

}  // namespace inbox_poller::poller
