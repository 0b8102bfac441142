// The access of clients to inboxes (docs/reference/wire.md W7 to W13).
#include <boost/json.hpp>
#include <cstdio>
#include <utility>

#include "schema/ids.hpp"
#include "tests/sim/peers.hpp"
#include "tests/sim/world.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Span stale = seconds(10);
constexpr int tries = 10;

/// As JSON.stringify(value, null, 2) writes it.
void print(const json::value& value, const std::string& margin, std::string& out) {
  const std::string inner = margin + "  ";
  const bool is_list = value.is_array();
  if (is_list ? value.as_array().empty() : !value.is_object() || value.as_object().empty()) {
    out += json::serialize(value);
    return;
  }
  out += is_list ? "[" : "{";
  auto begin = [&, is_first = true]() mutable {
    out += std::string(std::exchange(is_first, false) ? "" : ",") + "\n" + inner;
  };
  if (is_list)
    for (const auto& one : value.as_array()) begin(), print(one, inner, out);
  else
    for (const auto& [name, one] : value.as_object()) {
      begin();
      out += json::serialize(json::string(name)) + ": ";
      print(one, inner, out);
    }
  out += "\n" + margin + (is_list ? "]" : "}");
}

std::string dump(const json::value& value, const std::string& margin = {}) {
  std::string out;
  print(value, margin, out);
  return out;
}

}  // namespace

bool is_read(const json::object& entry) {
  const auto* read = entry.if_contains("read");
  return read != nullptr && read->is_bool() && read->as_bool();
}

void BoxAccess::after(Span delay, std::function<void()> step) {
  machine_.after(delay, [this, life = life_, step = std::move(step)] {
    if (life == life_) step();
  });
}

std::optional<json::array> BoxAccess::look(const std::string& box) const {
  const auto bytes = machine_.disk().read(machine_.inbox(box));
  if (!bytes) return std::nullopt;
  boost::system::error_code bad;
  auto value = json::parse(*bytes, bad);
  if (bad || !value.is_array()) return std::nullopt;
  return std::move(value.as_array());
}

void BoxAccess::lock(const std::string& box, int left, std::function<void(bool)> then) {
  auto& disk = machine_.disk();
  const std::string path = machine_.inbox(box) + ".lock";
  if (disk.mkdir(path)) {
    // Now and then the machine lets a peer wait under its lock, but for less than ten seconds.
    const bool is_slow = machine_.is_troubled() && machine_.dice().one_in(machine_.profile().peer_is_slow_one_in);
    return after(is_slow ? machine_.dice().between(seconds(2), seconds(8)) : milliseconds(machine_.dice().below(3)),
                 [then] { then(true); });
  }
  const auto held = disk.find(path);
  if (held && Span(system_ns() - held->mtime_ns) > stale) {
    machine_.oracle().destroyed();  // its holder may go on, and both write
    disk.rmdir(path);
    return after({}, [=, this] { lock(box, left, then); });
  }
  if (client_ == Client::v2_1_50 || left == 0) return then(false);
  after(machine_.dice().between(milliseconds(5), milliseconds(100)), [=, this] { lock(box, left - 1, then); });
}

void BoxAccess::write(const std::string& box, const std::string& bytes, std::function<void()> then) {
  if (client_ == Client::v2_1_331) {
    machine_.disk().replace(machine_.inbox(box), bytes);
    return then();
  }
  machine_.disk().write(machine_.inbox(box), "");  // in place: truncated first
  const auto some = [this] { return std::chrono::microseconds(machine_.dice().below(2000)); };
  after(some(), [=, this] {
    machine_.disk().write(machine_.inbox(box), bytes.substr(0, bytes.size() / 2));
    after(some(), [=, this] {
      machine_.disk().write(machine_.inbox(box), bytes);
      then();
    });
  });
}

void BoxAccess::change(const std::string& box, Change change, std::function<void(bool)> done) {
  rewrite(
      box,
      [=, this](const std::string&) -> std::optional<std::string> {
        auto entries = look(box);
        if (!entries && client_ == Client::v2_1_331) return std::nullopt;  // leaves alone what it cannot parse
        if (!entries) machine_.oracle().destroyed();                         // takes it for empty
        auto all = entries.value_or(json::array());
        if (!change(all)) return std::nullopt;
        return dump(all);
      },
      std::move(done));
}

void BoxAccess::rewrite(const std::string& box, Rewrite made, std::function<void(bool)> done) {
  if (!machine_.disk().exists(machine_.inbox(box))) machine_.disk().write(machine_.inbox(box), "[]");
  lock(box, tries, [=, this](bool locked) {
    if (!locked) return done(false);
    const auto unlock = [=, this](bool written) {
      machine_.disk().rmdir(machine_.inbox(box) + ".lock");
      done(written);
    };
    const auto bytes = made(machine_.disk().read(machine_.inbox(box)).value_or(""));
    if (!bytes) return unlock(false);
    write(box, *bytes, [=, this] { after(milliseconds(machine_.dice().below(2)), [unlock] { unlock(true); }); });
  });
}

json::object BoxAccess::entry(const Letter& letter) {
  json::object entry{{"from", letter.from}, {"text", letter.text}};
  if (!letter.summary.empty()) entry["summary"] = letter.summary;
  entry["timestamp"] = schema::iso_timestamp(system_ms());
  entry["color"] = "blue";
  if (client_ == Client::v2_1_331) {  // W6
    char id[40];
    std::snprintf(id, sizeof id, "00000000-0000-4000-8000-%012d", machine_.next_number());
    entry["msgV"] = 1;
    entry["msg_id"] = id;
    entry["type"] = "message";
  }
  entry["read"] = false;
  return entry;
}

void BoxAccess::append(const std::string& box, const Letter& letter, std::function<void(bool)> done) {
  const auto grow = [=, this](json::array& entries) {
    entries.push_back(entry(letter));
    machine_.oracle().written(letter.text);
    return true;
  };
  constexpr std::string_view end = "}\n]";
  const auto bytes = machine_.disk().read(machine_.inbox(box));
  if (!bytes || !bytes->ends_with(end)) return change(box, grow, std::move(done));
  // The same bytes as by parsing and writing the whole array, in a fraction of the time.
  rewrite(
      box,
      [=, this](const std::string& now) -> std::optional<std::string> {
        if (!now.starts_with('[') || !now.ends_with(end)) return std::nullopt;
        machine_.oracle().written(letter.text);
        return now.substr(0, now.size() - 2) + ",\n  " + dump(entry(letter), "  ") + "\n]";
      },
      std::move(done));
}

}  // namespace inbox_poller::sim
