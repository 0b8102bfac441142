#include "tests/sim/exchange.hpp"

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <vector>

#include "tests/sim/peers.hpp"
#include "tests/sim/world.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
namespace {

/// Without ids and times.
std::string plain(const std::string& bytes) {
  static const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"), id(R"x(("msg_id": ")[^"]*)x");
  return std::regex_replace(std::regex_replace(bytes, time, "TIME"), id, "$1ID");
}

struct Seen {
  std::vector<std::string> steps;
  std::string after;
};

/// What the model does for one part of a recording: it takes what is unread in its own box, or appends the last entry.
Seen played(Client client, const json::object& part) {
  Setup setup;
  setup.profile = profile_of("calm");
  setup.without.insert(parts_of_a_world().begin(), parts_of_a_world().end());
  World world(1, setup);
  auto& machine = world.machine();
  const auto box = text_of(part, "box");
  const auto path = machine.inbox(box);
  if (part.at("before").is_string()) machine.disk().write(path, text_of(part, "before"));
  Seen seen;
  machine.disk().on_step = [&](const std::string& step) {
    if (seen.steps.empty() || seen.steps.back() != step) seen.steps.push_back(step);
  };
  constexpr Span enough = std::chrono::milliseconds(900);  // less than a worker's pause
  BoxAccess boxes(machine, client);
  Worker worker(machine, box, client, false, nullptr);
  if (box == "team-lead") {
    const auto last = json::parse(text_of(part, "after")).as_array().back().as_object();
    boxes.append(box, {text_of(last, "from"), text_of(last, "text"), text_of(last, "summary")}, [](bool) {});
  } else {
    worker.read();
  }
  world.let_others_go_on(enough);
  seen.after = machine.disk().read(path).value_or("");
  machine.disk().on_step = {};
  return seen;
}

}  // namespace

int compare_exchange(const std::string& path) {
  const auto recorded = json::parse(test::slurp(path)).as_object();
  const auto client = std::filesystem::path(path).stem() == "2.1.50" ? Client::v2_1_50 : Client::v2_1_331;
  int differences = 0;
  const auto differ = [&](const std::string& where, const std::string& model, const std::string& real) {
    ++differences;
    std::printf("%s: %s: the model has\n%s\nand the client\n%s\n", path.c_str(), where.c_str(), model.c_str(), real.c_str());
  };
  for (const auto& [box, parts] : recorded)
    for (const auto& one : parts.as_array()) {
      const auto& part = one.as_object();
      const auto seen = played(client, part);
      std::string steps, real;
      for (const auto& step : seen.steps) steps += step + " ";
      for (const auto& step : part.at("steps").as_array()) real += std::string(step.as_string()) + " ";
      if (steps != real) differ("steps in the box of " + std::string(box), steps, real);
      if (plain(seen.after) != plain(text_of(part, "after")))
        differ("bytes in the box of " + std::string(box), seen.after, text_of(part, "after"));
    }
  if (recorded.empty()) differ("parts", "none", "none");
  return differences == 0 ? 0 : 1;
}

}  // namespace inbox_poller::sim
