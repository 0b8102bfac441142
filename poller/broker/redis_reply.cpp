#include "poller/broker/redis_reply.hpp"

#include <charconv>
#include <new>
#include <utility>

#ifdef INBOX_POLLER_REDIS
#include <hiredis/hiredis.h>
#include <hiredis/read.h>
#endif

namespace inbox_poller::poller {

const RedisReply& RedisReply::at(std::size_t index) const {
  static const RedisReply none;
  return index < parts.size() ? parts[index] : none;
}

long long RedisReply::as_number() const {
  if (kind == Kind::integer) return number;
  long long value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? value : 0;
}

#ifdef INBOX_POLLER_REDIS

namespace {

/// Target of the parser: the root value, and the number of parts requested so far.
struct Growing {
  RedisReply root;
  std::size_t parts = 0;
};

RedisReply* place_of(const redisReadTask* task) {
  if (task->parent == nullptr) return &static_cast<Growing*>(task->privdata)->root;
  auto* const above = static_cast<RedisReply*>(task->parent->obj);
  const auto index = static_cast<std::size_t>(task->idx);
  return index < above->parts.size() ? &above->parts[index] : nullptr;
}

void* make_text(const redisReadTask* task, char* text, std::size_t size) {
  RedisReply* const reply = place_of(task);
  if (reply == nullptr) return nullptr;
  reply->kind = task->type == REDIS_REPLY_ERROR    ? RedisReply::Kind::error
                : task->type == REDIS_REPLY_STATUS ? RedisReply::Kind::status
                                                   : RedisReply::Kind::text;
  reply->text.assign(text, size);
  return reply;
}

/// `Count` is `int` in hiredis 0.14 and `size_t` since 1.0.
template <class Count>
void* make_list(const redisReadTask* task, Count count) {
  RedisReply* const reply = place_of(task);
  auto& all = static_cast<Growing*>(task->privdata)->parts;
  const auto wanted = static_cast<std::size_t>(count);
  if (reply == nullptr || wanted > RedisReader::most_parts - all) return nullptr;  // hiredis reports 'out of memory'
  all += wanted;
  reply->kind = RedisReply::Kind::list;
  reply->parts.resize(wanted);
  return reply;
}

void* make_integer(const redisReadTask* task, long long value) {
  RedisReply* const reply = place_of(task);
  if (reply == nullptr) return nullptr;
  reply->kind = RedisReply::Kind::integer;
  reply->number = value;
  return reply;
}

void* make_nothing(const redisReadTask* task) { return place_of(task); }

void forget(void*) {}  // every value is part of `Growing::root`

redisReplyObjectFunctions building() {
  redisReplyObjectFunctions functions{};
  functions.createString = make_text;
  functions.createArray = make_list;
  functions.createInteger = make_integer;
  functions.createNil = make_nothing;
  functions.freeObject = forget;
#if HIREDIS_MAJOR >= 1
  functions.createDouble = [](const redisReadTask* task, double, char* text, std::size_t size) {
    return make_text(task, text, size);
  };
  functions.createBool = [](const redisReadTask* task, int value) { return make_integer(task, value); };
#endif
  return functions;
}

struct FreeReader {
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
};

}  // namespace

struct RedisReader::State {
  redisReplyObjectFunctions functions = building();
  Growing growing;
  std::size_t fed = 0;  // bytes since the last complete reply
  bool is_broken = false;
  std::unique_ptr<redisReader, FreeReader> reader{redisReaderCreateWithFunctions(&functions)};
};

RedisReader::RedisReader(std::size_t most) : most_(most), state_(std::make_unique<State>()) {
  if (state_->reader) state_->reader->privdata = &state_->growing;
}

RedisReader::~RedisReader() = default;

void RedisReader::feed(std::string_view bytes) {
  state_->fed += bytes.size();
  if (state_->fed > most_ || state_->is_broken || !state_->reader)
    state_->is_broken = true;
  else
    (void)redisReaderFeed(state_->reader.get(), bytes.data(), bytes.size());
}

Result<std::optional<RedisReply>> RedisReader::next() {
  const Error fault{"redis.fault", too_much};
  if (state_->is_broken || !state_->reader) return fault;
  void* whole = nullptr;
  if (redisReaderGetReply(state_->reader.get(), &whole) != REDIS_OK) {
    state_->is_broken = true;
    return fault;
  }
  if (whole == nullptr) return std::optional<RedisReply>();
  state_->fed = 0;
  state_->growing.parts = 0;
  return std::optional(std::exchange(state_->growing.root, RedisReply{}));
}

std::string encode(const RedisCommand& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const std::string& word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* text = nullptr;
  const auto size = redisFormatCommandArgv(&text, static_cast<int>(words.size()), words.data(), sizes.data());
  if (size < 0 || text == nullptr) throw std::bad_alloc();
  std::string bytes(text, static_cast<std::size_t>(size));
  redisFreeCommand(text);
  return bytes;
}

#else

struct RedisReader::State {};
RedisReader::RedisReader() = default;
RedisReader::~RedisReader() = default;
void RedisReader::feed(std::string_view) {}
Result<std::optional<RedisReply>> RedisReader::next() {
  return Error{"redis.fault", "this program was built without Redis"};
}
std::string encode(const RedisCommand&) { return {}; }

#endif

}  // namespace inbox_poller::poller
