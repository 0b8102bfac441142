#include "poller/broker/redis_connection.hpp"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <list>
#include <utility>

#include "poller/broker/redis_link.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds connect_within{5000};
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{5000};
constexpr milliseconds facts_hold{10'000};
constexpr std::size_t one_read = std::size_t{64} << 10;
constexpr std::size_t longest_secret = 4096;

}  // namespace

RedisScript::RedisScript(std::string script) : text(std::move(script)) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) size = 0;  // then EVAL
  for (unsigned i = 0; i < size; ++i) {
    std::array<char, 3> digits;
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(digest[i]));
    sha1 += digits.data();
  }
}

Result<std::string> read_secret(const std::string& path) {
  const auto wrong = [&](const std::string& what) { return Error{"redis.denied", "the secret in " + path + ' ' + what}; };
  // No colon after the path: the log masks any text after "secret:".
  const auto unreadable = [&](const Error& why) {
    const std::size_t colon = why.message.rfind(": ");
    return wrong("cannot be read (" + why.message.substr(colon == std::string::npos ? 0 : colon + 2) + ')');
  };
  PosixFileSystem files;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) return wrong("is named by no whole path");
  const Result<Directory> folder = files.open_dir(absolute, slash == 0 ? "/" : path.substr(0, slash));
  if (!folder) return unreadable(folder.error());
  const Result<File> file = files.open_read(*folder, path.substr(slash + 1));
  if (!file) return unreadable(file.error());
  if (file->stat.uid != ::geteuid() || (file->stat.mode & 077U) != 0)
    return wrong("is readable by others: chown it to whom this runs as, and chmod 600 " + path);
  if (file->stat.size > longest_secret) return wrong("is too long for a password");
  Result<std::string> bytes = read_all(files, *file);
  if (!bytes) return unreadable(bytes.error());
  while (bytes->ends_with('\n') || bytes->ends_with('\r')) bytes->pop_back();
  if (bytes->empty()) return wrong("is empty");
  return bytes;
}

// --- the connection

struct RedisConnection::State {
  State(const asio::any_io_executor& where, config::RedisAddress to, std::size_t most)
      : executor(where), address(std::move(to)), most_bytes(most), deadline(where), resting(where) {}

  asio::any_io_executor executor;
  const config::RedisAddress address;
  const std::size_t most_bytes;
  std::shared_ptr<RedisLink> link;
  std::unique_ptr<RedisReader> reader;
  asio::steady_timer deadline;
  asio::steady_timer resting;  // back-off before a reconnect
  bool is_late = false, is_interrupted = false;
  bool is_taken = false;
  std::list<asio::steady_timer*> waiting;  // in order of arrival
  steady_clock::time_point not_before{};   // end of the back-off after a failed connect
  milliseconds pause{0};
  Error last{"redis.down", "Redis was not reached yet"};
  BrokerFacts facts;
  steady_clock::time_point facts_until{};  // then they are read again; zero before the first time

  void drop() {
    if (link) link->close();
    link.reset();
    reader.reset();
    facts_until = {};
  }

  void arm(const std::shared_ptr<RedisLink>& what, milliseconds within) {
    is_late = false;
    deadline.expires_after(within);
    deadline.async_wait([this, link_then = std::weak_ptr<RedisLink>(what)](const boost::system::error_code& ended) {
      const auto still = link_then.lock();  // the caller holds the link and this state
      if (ended || !still) return;
      is_late = true;
      still->close();
    });
  }

  /// The error of a failed call: interrupted, timed out, or `seen`.
  [[nodiscard]] Error reason(const Error& seen) const {
    if (is_interrupted) return {"redis.interrupted", "ended by us"};
    if (is_late) return {"redis.down", "Redis at " + address.shown() + " did not answer in time"};
    return seen;
  }

  asio::awaitable<Result<std::vector<RedisReply>>> talk(std::vector<RedisCommand> commands);
  asio::awaitable<Status> connect();
  asio::awaitable<Status> greet();
};

namespace {

/// Lets one caller at a time use the connection, in order of arrival.
class Turn {
 public:
  explicit Turn(RedisConnection::State& state) : state_(state) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!has_) return;
    state_.is_taken = false;
    if (!state_.waiting.empty()) state_.waiting.front()->cancel();
  }

  asio::awaitable<void> take() {
    if (state_.is_taken || !state_.waiting.empty()) {
      asio::steady_timer mine(state_.executor, asio::steady_timer::time_point::max());
      const Waits waits(state_.waiting, mine);
      while (state_.is_taken || state_.waiting.front() != &mine) {
        boost::system::error_code woken;
        co_await mine.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      }
      has_ = state_.is_taken = true;
    }
    has_ = state_.is_taken = true;
  }

 private:
  struct Waits {
    std::list<asio::steady_timer*>& list;
    std::list<asio::steady_timer*>::iterator place;
    Waits(std::list<asio::steady_timer*>& all, asio::steady_timer& mine) : list(all), place(all.insert(all.end(), &mine)) {}
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits() {
      const bool was_first = place == list.begin();
      list.erase(place);
      if (was_first && !list.empty()) list.front()->cancel();  // wakes the next caller to check its turn
    }
  };
  RedisConnection::State& state_;
  bool has_ = false;
};

}  // namespace

asio::awaitable<Result<std::vector<RedisReply>>> RedisConnection::State::talk(std::vector<RedisCommand> commands) {
  const auto over = link;  // close() may happen during this call
  std::string bytes;
  for (const RedisCommand& command : commands) bytes += encode(command);
  CO_TRY(co_await over->write(bytes));
  std::vector<RedisReply> replies;
  std::vector<char> room(one_read);
  for (;;) {
    while (replies.size() < commands.size()) {
      CO_TRY(auto next, reader->next());
      if (!next.has_value()) break;
      replies.push_back(*std::move(next));
    }
    if (replies.size() == commands.size()) co_return replies;
    CO_TRY(const auto count, co_await over->read(room));
    reader->feed(std::string_view(room.data(), count));
  }
}

asio::awaitable<Status> RedisConnection::State::greet() {
  std::vector<RedisCommand> words;
  if (!address.secret.empty() && facts_until == steady_clock::time_point()) {
    CO_TRY(const auto secret, read_secret(address.secret));
    words.push_back(address.user.empty() ? RedisCommand{"AUTH", secret} : RedisCommand{"AUTH", address.user, secret});
  }
  words.push_back({"INFO", "server", "replication", "persistence", "memory"});
  words.push_back({"CONFIG", "GET", "appendfsync"});
  facts_until = steady_clock::now() + facts_hold;
  const std::size_t info = words.size() - 2;
  CO_TRY(const auto replies, co_await talk(std::move(words)));
  for (std::size_t i = 0; i <= info; ++i)
    if (const RedisReply& one = replies[i]; one.kind == RedisReply::Kind::error)
      co_return in_context("logging in to Redis at " + address.shown() + (address.user.empty() ? "" : " as " + address.user), error_of(one));
  facts = BrokerFacts::read(replies[info].text);
  facts.log_is_synced = replies.back().at(1).text;  // empty if the user may not read it
  const Status usable = facts.usable(address.not_durable_is_meant);
  if (!usable.ok()) co_return in_context("Redis at " + address.shown(), usable.error());
  co_return Done{};
}

asio::awaitable<Status> RedisConnection::State::connect() {
  if (const auto now = steady_clock::now(); now < not_before) {
    resting.expires_at(not_before);
    boost::system::error_code woken;
    co_await resting.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (is_interrupted) co_return reason(last);
  }
  auto made = make_redis_link(executor, address);
  Status done = made ? Status(Done{}) : Status(made.error());
  if (done.ok()) {
    link = *std::move(made);
    reader = std::make_unique<RedisReader>(most_bytes);
    const auto opening = link;
    arm(opening, connect_within);
    done = co_await opening->open();
    if (done.ok()) done = co_await greet();
    deadline.cancel();
  }
  if (done.ok()) {
    pause = milliseconds(0);
    co_return done;
  }
  last = reason(done.error());
  drop();
  pause = std::clamp(pause * 2, first_pause, longest_pause);
  not_before = steady_clock::now() + pause;
  co_return last;
}

RedisConnection::RedisConnection(const asio::any_io_executor& executor, config::RedisAddress address, std::size_t most)
    : state_(std::make_shared<State>(executor, std::move(address), most)) {}

RedisConnection::~RedisConnection() { interrupt(); }

void RedisConnection::interrupt() {
  if (!state_->is_taken) return;
  state_->is_interrupted = true;
  if (state_->link) state_->link->close();
  state_->resting.cancel();
}

void RedisConnection::try_now() { state_->resting.cancel(); }

const BrokerFacts& RedisConnection::facts() const { return state_->facts; }

asio::awaitable<Result<std::vector<RedisReply>>> RedisConnection::call_all(std::vector<RedisCommand> commands,
                                                                           milliseconds within) {
  const auto state = state_;  // keeps the state if the connection object ends
  const auto until = steady_clock::now() + within;
  Turn turn(*state);
  co_await turn.take();
  state->is_interrupted = false;
  if (!state->link) {
    if (state->not_before >= until) co_return state->last;
    CO_TRY(co_await state->connect());
  }
  state->arm(state->link, within);
  Status fits = Done{};  // no `?:` with co_await: g++ 12 destroys its result twice
  if (steady_clock::now() >= state->facts_until) fits = co_await state->greet();
  Result<std::vector<RedisReply>> replies = Error{"redis.unfit", ""};
  if (fits.ok())
    replies = co_await state->talk(std::move(commands));
  else
    replies = fits.error();
  state->deadline.cancel();
  if (!replies) {
    const Error why = state->reason(replies.error());
    state->drop();
    co_return why;
  }
  co_return replies;
}

asio::awaitable<Result<RedisReply>> RedisConnection::call(RedisCommand command, milliseconds within) {
  std::vector<RedisCommand> one;
  one.push_back(std::move(command));
  CO_TRY(auto replies, co_await call_all(std::move(one), within));
  if (replies.front().kind == RedisReply::Kind::error) co_return error_of(replies.front());
  co_return std::move(replies.front());
}

asio::awaitable<Result<RedisReply>> RedisConnection::call(const RedisScript& script, std::vector<std::string> keys,
                                                          std::vector<std::string> arguments, milliseconds within) {
  std::vector<ScriptCall> one;
  one.push_back({std::move(keys), std::move(arguments)});
  CO_TRY(auto replies, co_await call_all(script, std::move(one), within));
  co_return std::move(replies.front());
}

asio::awaitable<Result<std::vector<RedisReply>>> RedisConnection::call_all(const RedisScript& script,
                                                                           std::vector<ScriptCall> calls,
                                                                           milliseconds within) {
  for (bool by_name = !script.sha1.empty();; by_name = false) {
    std::vector<RedisCommand> commands;
    for (const ScriptCall& one : calls) {  // only the first command carries the text; Redis then knows the script
      RedisCommand command{"EVALSHA", script.sha1};
      if (!by_name && (commands.empty() || script.sha1.empty())) command = {"EVAL", script.text};
      command.push_back(std::to_string(one.keys.size()));
      command.insert(command.end(), one.keys.begin(), one.keys.end());
      command.insert(command.end(), one.arguments.begin(), one.arguments.end());
      commands.push_back(std::move(command));
    }
    CO_TRY(auto replies, co_await call_all(std::move(commands), within));
    const auto failed = std::ranges::find(replies, RedisReply::Kind::error, &RedisReply::kind);
    if (failed == replies.end()) co_return replies;
    // NOSCRIPT on the first command means that no command ran, so the calls can be repeated with the text.
    if (!by_name || failed != replies.begin() || !failed->text.starts_with("NOSCRIPT")) co_return error_of(*failed);
  }
}

}  // namespace inbox_poller::poller
