// The load generator: real writer processes on one side, the consumer on the other, one clock. It checks what it
// measures: every message that a writer completed must arrive, with the stamp that was written, and must be marked;
// what was refused to a writer by a held lock is counted. Prints one JSON object. Leaves with 0 also when messages are
// missing: tests/bench/bench.py judges.
//
//   bench_load chat   one message at a time, from several writers in turn, with a jittered pause before each
//   bench_load request permission requests; each writer waits for its answer in its own inbox
//   bench_load drain  one file with many unread messages, put there by one rename
//   bench_load scale  many teams, each with so many messages a second
//   bench_load fill   makes an inbox with read entries, and no more
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <random>

#include "tests/bench/consumer.hpp"
#include "tests/bench/peer.hpp"

namespace inbox_poller::bench {
namespace {

namespace json = boost::json;

constexpr Nanoseconds second = 1'000'000'000;

std::string writer_name(std::size_t number) { return "w" + std::to_string(number + 1); }

/// The pause before a message: anything between the two, so that no timer of the reader is met in step.
class Pauses {
 public:
  Pauses(const Options& options, std::size_t seed)
      : random_(seed), gap_(options.number("gap-us"), options.number("gap-to-us", options.number("gap-us"))) {}
  void take() { pause_for(gap_(random_) * 1000); }

 private:
  std::mt19937_64 random_;
  std::uniform_int_distribution<long> gap_;
};

/// Tells the floor which message is complete.
class Bell {
 public:
  explicit Bell(const std::string& fifo) : file_(fifo.empty() ? -1 : ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (!fifo.empty() && file_ < 0) give_up("cannot open " + fifo);
  }
  void ring(std::int64_t id) const {
    if (file_ >= 0 && ::write(file_, &id, sizeof id) != sizeof id) give_up("the floor has left");
  }

 private:
  int file_;
};

/// A child process that runs `work` and leaves with 0, or ends with us.
template <class Work>
pid_t start(Work work) {
  const pid_t child = ::fork();
  if (child < 0) give_up("cannot fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    std::_Exit(0);
  }
  return child;
}

class Writers {
 public:
  void add(pid_t child) { running_.push_back(child); }
  [[nodiscard]] bool all_left() {
    std::erase_if(running_, [this](pid_t child) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) != child) return false;
      failed_ |= status != 0;
      return true;
    });
    return running_.empty();
  }
  void end() {
    for (const pid_t child : running_) ::kill(child, SIGKILL);
    for (const pid_t child : running_) ::waitpid(child, nullptr, 0);
    running_.clear();
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::vector<pid_t> running_;
  bool failed_ = false;
};

std::size_t count_of(std::string_view bytes, std::string_view wanted) {
  std::size_t count = 0;
  for (std::size_t at = bytes.find(wanted); at != std::string_view::npos; at = bytes.find(wanted, at + 1)) ++count;
  return count;
}

/// Unread entries in the file: their spelling is ours or JSON.stringify's.
std::size_t unread_in(const PeerFile& file) { return count_of(read_whole(file.path()), "\"read\": false"); }

bool last_is_read(const PeerFile& file) {
  char tail[48];
  const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  const ssize_t got =
      ::pread(descriptor, tail, sizeof tail, std::max<off_t>(0, size - static_cast<off_t>(sizeof tail)));
  ::close(descriptor);
  return got > 0 && std::string_view(tail, static_cast<std::size_t>(got)).find("\"read\": true") != std::string::npos;
}

/// Spins on the lock directory and notes from when to when it stood there. For a machine with a core to spare.
class LockWatcher {
 public:
  explicit LockWatcher(const PeerFile& file) : seen_(shared_slots(most)) {
    child_ = start([lock = file.lock(), seen = seen_] {
      struct stat about {};
      for (Slot& slot : seen) {
        while (::stat(lock.c_str(), &about) != 0) {
        }
        const Nanoseconds from = now_ns();
        while (::stat(lock.c_str(), &about) == 0) {
        }
        slot.unlocked = now_ns();
        slot.locked = from;
      }
    });
  }
  /// How long it was held by anybody but the writers.
  json::array of_others(std::span<const Slot> writers) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    json::array held;
    for (const Slot& seen : seen_) {
      if (seen.locked == 0) break;
      const bool ours = std::any_of(writers.begin(), writers.end(), [&](const Slot& one) {
        return one.locked != 0 && seen.locked < one.unlocked && one.locked < seen.unlocked;
      });
      if (!ours) held.push_back(seen.unlocked - seen.locked);
    }
    return held;
  }

 private:
  static constexpr std::size_t most = 100'000;
  std::span<Slot> seen_;
  pid_t child_ = 0;
};

/// What every kind of run tells: each sample, and everything that is wrong.
json::object report(std::span<const Slot> slots, const std::vector<std::string>& problems, bool writers_failed) {
  json::array latency, complete_utc, cpu, wrong, missing;
  std::size_t written = 0, refused = 0, received = 0, repeated = 0;
  for (std::size_t id = 0; id < slots.size(); ++id) {
    const Slot& slot = slots[id];
    refused += slot.fate == Fate::refused;
    if (slot.fate != Fate::written) {
      if (slot.times > 0) wrong.push_back(json::string("received although never written: " + std::to_string(id)));
      continue;
    }
    ++written;
    complete_utc.push_back(json::array{id, slot.complete_utc});
    if (slot.cpu_after != 0) cpu.push_back(json::array{slot.cpu_after - slot.cpu_before, slot.window});
    if (slot.wrong_stamp > 0) wrong.push_back(json::string("another stamp: " + std::to_string(id)));
    if (slot.times == 0) {
      missing.push_back(id);
      continue;
    }
    ++received;
    repeated += slot.times > 1;
    latency.push_back(slot.received - slot.complete);
    if (slot.stamp > slot.locked || slot.locked > slot.complete || slot.received < slot.complete)
      wrong.push_back(json::string("stamps out of order: " + std::to_string(id)));
  }
  for (const std::string& one : problems) wrong.push_back(json::string(one));
  if (writers_failed) wrong.push_back("a writer failed");
  return {{"written", written},    {"refused", refused}, {"received", received},
          {"repeated", repeated},  {"missing", missing}, {"wrong", wrong},
          {"latency_ns", latency}, {"cpu_ns", cpu},      {"complete_utc_ns", complete_utc}};
}

std::size_t written_in(std::span<const Slot> slots) {
  return static_cast<std::size_t>(
      std::count_if(slots.begin(), slots.end(), [](const Slot& slot) { return slot.fate == Fate::written; }));
}

PeerFile file_of(const Options& options) { return {options.text("inboxes"), options.text("inbox", "team-lead")}; }

Style style_of(const Options& options, std::size_t writer) {
  const std::string style = options.text("style", "both");
  return style == "rewrite" || (style == "both" && writer % 2 == 1) ? Style::rewrite : Style::replace;
}

void write_messages(const Options& options, std::span<Slot> slots, std::size_t writer, std::size_t writers) {
  const PeerFile file = file_of(options);
  const Bell bell(options.text("notify", ""));
  const auto measured = static_cast<pid_t>(options.number("cpu-of", 0));
  Pauses pauses(options, 1 + writer);
  pause_for(options.number("lead-us", 0) * 1000);
  for (std::size_t id = writer; id < slots.size(); id += writers) {
    Slot& slot = slots[id];
    if (measured == 0) pauses.take();
    slot.cpu_before = cpu_ns(measured);
    slot.stamp = now_ns();
    const std::string text = message_text(id, slot.stamp, static_cast<std::size_t>(options.number("size")));
    append(file, entry_of(writer_name(writer), text, false, id), style_of(options, writer), slot);
    if (slot.fate == Fate::written) bell.ring(static_cast<std::int64_t>(id));
    if (measured == 0) continue;
    // A message that takes long has its work counted, too: the pause begins when it has arrived.
    const Nanoseconds end = now_ns() + options.number("patience-s", 30) * second;
    while (slot.fate == Fate::written && now_ns() < end && std::atomic_ref(slot.times).load() == 0)
      pause_for(1'000'000);
    pauses.take();
    slot.cpu_after = cpu_ns(measured);
    slot.window = now_ns() - slot.stamp;
  }
}

json::object chat(const Options& options) {
  const auto slots = shared_slots(static_cast<std::size_t>(options.number("count")));
  const auto writers = static_cast<std::size_t>(options.number("writers", 2));
  Consumer consumer(options.text("consumer"), options.text("socket"), options.text("team", ""), slots);
  std::unique_ptr<LockWatcher> watcher;
  if (options.number("watch-lock", 0) != 0) watcher = std::make_unique<LockWatcher>(file_of(options));
  Writers running;
  for (std::size_t n = 0; n < writers; ++n) running.add(start([&, n] { write_messages(options, slots, n, writers); }));
  while (!running.all_left()) consumer.take(5);
  const Nanoseconds end = now_ns() + options.number("patience-s", 30) * second;
  const std::size_t expected = written_in(slots);
  while (now_ns() < end && !consumer.closed() && consumer.distinct() < expected) consumer.take(5);
  while (now_ns() < end && !consumer.closed() && unread_in(file_of(options)) > 0) consumer.take(5);
  json::object result = report(slots, consumer.problems(), running.failed());
  result["unread"] = unread_in(file_of(options));
  if (watcher) result["lock_ns"] = watcher->of_others(slots);
  if (const Nanoseconds idle = options.number("idle-us", 0) * 1000; idle > 0) {
    const auto measured = static_cast<pid_t>(options.number("cpu-of"));
    const Nanoseconds before = cpu_ns(measured);
    const Nanoseconds until = now_ns() + idle;
    while (now_ns() < until) consumer.take(static_cast<int>((until - now_ns()) / 1'000'000) + 1);
    result["idle_cpu_ns"] = cpu_ns(measured) - before;
  }
  return result;
}

/// A worker that asks, and sees in its own inbox that it was answered.
void ask_and_wait(const Options& options, std::span<Slot> slots, std::size_t writer, std::size_t writers) {
  const PeerFile lead = file_of(options);
  const PeerFile own{lead.folder, writer_name(writer)};
  const int watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch < 0 || ::inotify_add_watch(watch, own.folder.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY) < 0)
    give_up("cannot watch " + own.folder);
  Pauses pauses(options, 100 + writer);
  for (std::size_t id = writer; id < slots.size(); id += writers) {
    Slot& slot = slots[id];
    pauses.take();
    slot.stamp = now_ns();
    const std::string request = "perm-" + std::to_string(slot.stamp) + "-" + std::to_string(id);
    const std::string text = "{\"type\":\"permission_request\",\"request_id\":\"" + request + "\",\"agent_id\":\"" +
                             writer_name(writer) + "\",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_" +
                             std::to_string(id) +
                             "\",\"description\":\"status\",\"input\":{\"command\":\"git status -s\"},"
                             "\"permission_suggestions\":[]}";
    append(lead, entry_of(writer_name(writer), text, false, id), style_of(options, writer), slot);
    if (slot.fate != Fate::written) continue;
    const Nanoseconds end = now_ns() + options.number("patience-s", 30) * second;
    while (slot.times == 0 && now_ns() < end) {
      pollfd wanted{watch, POLLIN, 0};
      ::poll(&wanted, 1, 1000);
      char events[4096];
      while (::read(watch, events, sizeof events) > 0) {
      }
      const std::string bytes = read_whole(own.path());
      const Nanoseconds at = now_ns();
      if (bytes.find(request) == std::string::npos || !bytes.ends_with("\n]")) continue;
      slot.received = at;
      slot.times = 1;
      if (bytes.find("\\\"subtype\\\":\\\"success\\\"") == std::string::npos) slot.wrong_stamp = 1;
    }
    empty(own);
  }
}

json::object request(const Options& options) {
  const auto slots = shared_slots(static_cast<std::size_t>(options.number("count")));
  const auto writers = static_cast<std::size_t>(options.number("writers", 2));
  // The reference has nobody to hand chat to here, but it insists on a listener.
  std::unique_ptr<Consumer> consumer;
  if (options.text("consumer", "none") != "none")
    consumer =
        std::make_unique<Consumer>(options.text("consumer"), options.text("socket"), options.text("team", ""), slots);
  Writers running;
  for (std::size_t n = 0; n < writers; ++n) running.add(start([&, n] { ask_and_wait(options, slots, n, writers); }));
  while (!running.all_left()) consumer ? consumer->take(5) : pause_for(5'000'000);
  const Nanoseconds end = now_ns() + options.number("patience-s", 30) * second;
  while (now_ns() < end && unread_in(file_of(options)) > 0) pause_for(5'000'000);
  json::object result = report(slots, {}, running.failed());
  result["unread"] = unread_in(file_of(options));
  return result;
}

json::object drain(const Options& options) {
  const auto slots = shared_slots(static_cast<std::size_t>(options.number("count")));
  const PeerFile file = file_of(options);
  const auto measured = static_cast<pid_t>(options.number("cpu-of", 0));
  Consumer consumer(options.text("consumer"), options.text("socket"), options.text("team", ""), slots);
  const Bell bell(options.text("notify", ""));
  const Nanoseconds settle = now_ns() + options.number("settle-us", 1'000'000) * 1000;
  while (now_ns() < settle) consumer.take(5);
  std::vector<std::string> entries;
  for (std::size_t id = 0; id < slots.size(); ++id) {
    slots[id].stamp = slots[id].locked = now_ns();
    slots[id].fate = Fate::written;
    entries.push_back(entry_of(writer_name(id % 2),
                               message_text(id, slots[id].stamp, static_cast<std::size_t>(options.number("size"))),
                               false, id));
  }
  const std::string temporary = file.path() + ".tmp.1";
  write_whole(temporary, inbox_of(entries));
  const Nanoseconds cpu = cpu_ns(measured);
  const Nanoseconds complete = now_ns();
  for (Slot& slot : slots) {
    slot.complete = complete;
    slot.complete_utc = read_clock(CLOCK_REALTIME);
  }
  if (::rename(temporary.c_str(), file.path().c_str()) != 0) give_up("cannot rename " + temporary);
  bell.ring(-static_cast<std::int64_t>(slots.size()));
  const bool marks = options.number("marks", 1) != 0;
  Nanoseconds all_here = 0, all_marked = marks ? 0 : complete;
  const Nanoseconds end = now_ns() + options.number("patience-s", 60) * second;
  while (now_ns() < end && (all_here == 0 || all_marked == 0)) {
    consumer.take(1);
    if (all_here == 0 && consumer.distinct() == slots.size()) all_here = now_ns();
    if (all_marked == 0 && last_is_read(file)) {
      const Nanoseconds at = now_ns();
      if (unread_in(file) == 0) all_marked = at;
    }
  }
  const Nanoseconds cpu_spent = cpu_ns(measured) - cpu;
  json::object result = report(slots, consumer.problems(), false);
  result["unread"] = marks ? unread_in(file) : 0;
  result["delivered_ns"] = all_here - complete;
  result["marked_ns"] = all_marked - complete;
  result["drain_cpu_ns"] = cpu_spent;
  return result;
}

/// Every team once in a period, each with its own phase, all of them handled by a few processes.
void write_to_teams(const Options& options, std::span<Slot> slots, std::size_t writer, std::size_t writers) {
  const auto teams = static_cast<std::size_t>(options.number("teams"));
  const Nanoseconds begin = now_ns();
  const Nanoseconds end = begin + (options.number("seconds") + 5) * second;
  std::mt19937_64 random(7 + writer);
  std::vector<std::pair<Nanoseconds, std::size_t>> order;
  for (std::size_t team = writer; team < teams; team += writers)
    order.emplace_back(static_cast<Nanoseconds>(random() % second), team);
  std::sort(order.begin(), order.end());
  for (std::size_t round = 0; round * teams < slots.size(); ++round) {
    for (const auto& [phase, team] : order) {
      const Nanoseconds due = begin + static_cast<Nanoseconds>(round) * second + phase;
      if (const Nanoseconds early = due - now_ns(); early > 0) pause_for(early);
      if (now_ns() > end) return;  // held locks kept us so long that the load is no more what it should be
      const std::size_t id = round * teams + team;
      Slot& slot = slots[id];
      slot.stamp = now_ns();
      const PeerFile file{options.text("root") + "/t" + std::to_string(team) + "/inboxes", "team-lead"};
      append(file, entry_of("w1", message_text(id, slot.stamp, 200), false, id), Style::replace, slot);
    }
  }
}

json::object scale(const Options& options) {
  const auto teams = static_cast<std::size_t>(options.number("teams"));
  const auto slots = shared_slots(teams * static_cast<std::size_t>(options.number("seconds")));
  const auto measured = static_cast<pid_t>(options.number("cpu-of", 0));
  std::unique_ptr<Consumer> consumer;
  if (options.text("consumer", "none") != "none")
    consumer = std::make_unique<Consumer>(options.text("consumer"), options.text("socket"), "", slots);
  const Nanoseconds cpu = cpu_ns(measured);
  const Nanoseconds begin = now_ns();
  Writers running;
  for (std::size_t n = 0; n < 2; ++n) running.add(start([&, n] { write_to_teams(options, slots, n, 2); }));
  while (!running.all_left()) consumer ? consumer->take(5) : pause_for(5'000'000);
  const Nanoseconds took = now_ns() - begin;
  const Nanoseconds cpu_spent = cpu_ns(measured) - cpu;
  const Nanoseconds end = now_ns() + options.number("patience-s", 60) * second;
  while (consumer && now_ns() < end && !consumer->closed() && consumer->distinct() < written_in(slots))
    consumer->take(5);
  json::object result = report(slots, consumer ? consumer->problems() : std::vector<std::string>{}, running.failed());
  result["took_ns"] = took;
  result["planned"] = slots.size();
  result["load_cpu_ns"] = cpu_spent;
  return result;
}

json::object fill(const Options& options) {
  std::vector<std::string> entries;
  const auto count = static_cast<std::size_t>(options.number("count"));
  for (std::size_t n = 0; n < count; ++n) {
    std::string text = "history " + std::to_string(n) + " ";
    text.resize(std::max(text.size(), static_cast<std::size_t>(options.number("size"))), 'x');
    entries.push_back(entry_of(writer_name(n % 2), text, true, n));
  }
  const std::string bytes = inbox_of(entries);
  write_whole(file_of(options).path(), bytes);
  return {{"bytes", bytes.size()}};
}

}  // namespace
}  // namespace inbox_poller::bench

int main(int argc, char** argv) {
  using namespace inbox_poller::bench;
  const std::string kind = argc > 1 ? argv[1] : "";
  const Options options(argc, argv, 2);
  using Run = boost::json::object (*)(const Options&);
  constexpr std::pair<std::string_view, Run> kinds[] = {
      {"chat", chat}, {"request", request}, {"drain", drain}, {"scale", scale}, {"fill", fill}};
  for (const auto& [name, run] : kinds) {
    if (kind != name) continue;
    std::cout << boost::json::serialize(run(options)) << std::endl;
    return 0;
  }
  give_up("expected chat, request, drain, scale or fill, found \"" + kind + "\"");
}
