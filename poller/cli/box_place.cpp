#include "poller/cli/box_place.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "poller/cli/printable.hpp"
#include "poller/broker/redis_box.hpp"
#include "poller/mailbox/maildir/maildir_operations.hpp"
#include "schema/envelope.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

std::string given_or(const std::string& given, const char* name) {
  const char* value = given.empty() ? std::getenv(name) : nullptr;
  return value == nullptr ? given : value;
}

std::string value_text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : schema::pretty_ascii(value);
}

}  // namespace

Result<std::string> BoxPlace::path() const {
  const std::string given = given_or(root, "COLLAB_ROOT");
  if (given.empty()) return Error{"mailbox.usage", "no shared folder is named; set --root DIR or COLLAB_ROOT"};
  if (config::is_engine_address(given)) {
    TRY(team_address(given));
    return given;
  }
  std::error_code problem;
  const auto absolute = std::filesystem::absolute(given, problem);
  if (problem) return Error{"mailbox.usage", given + ": " + problem.message()};
  std::string path = absolute.lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<std::string> BoxPlace::who() const {
  std::string name = given_or(actor, "COLLAB_ACTOR");
  if (name.empty()) return Error{"mailbox.usage", "no actor name; set --actor NAME or COLLAB_ACTOR"};
  return name;
}

Result<std::vector<std::string>> BoxPlace::known() const {
  std::vector<std::string> names;
  std::istringstream text(given_or(known_actors, "COLLAB_KNOWN_ACTORS"));
  for (std::string name; std::getline(text, name, ',');) {
    if (Status named = require_actor_name(name); !named.ok()) return in_context("--known-actors", named.error());
    names.push_back(std::move(name));
  }
  return names;
}

Result<config::RedisAddress> team_address(const std::string& root) {
  auto address = config::parse_redis_address(root);
  if (address && address->team.empty())
    return Error{"mailbox.usage", "whose mail is it? The team's name stands behind a #, as in " + address->shown() + "#team"};
  return address;
}

Result<std::unique_ptr<SharedBox>> open_box(const std::string& root, const std::string& actor, FileSystem& files,
                                            const Clock& clock, boost::asio::any_io_executor executor,
                                            std::chrono::milliseconds patience) {
  using Opened = std::unique_ptr<SharedBox>;
  if (!config::is_engine_address(root)) {
    auto box = MaildirOperations::open(root, actor, files, clock, std::move(executor));
    return box ? Result<Opened>(*std::move(box)) : Result<Opened>(box.error());
  }
  TRY(const auto address, team_address(root));
  auto box = RedisBox::open(address, actor, clock, std::move(executor), patience);
  return box ? Result<Opened>(*std::move(box)) : Result<Opened>(box.error());
}

Result<std::unique_ptr<TaskBoard>> open_tasks(const std::string& root) {
  auto board = std::make_unique<TaskBoard>();
  if (!config::is_engine_address(root)) {
    board->root.emplace(board->files, board->clock, root);
    board->tasks = std::make_unique<TaskQueue>(*board->root, TaskSettings{});
    return board;
  }
  TRY(const auto address, team_address(root));
  board->redis.emplace(address, engine_patience);
  board->tasks = std::make_unique<RedisTasks>(*board->redis, RedisKeys(address.team), address.shown(), TaskSettings{});
  return board;
}

std::string box_text(const json::object& envelope) {
  std::vector<Row> rows;
  for (const char* field : {"id", "from", "type", "in_reply_to", "status", "owner", "dead_reason", "abandoned_reason"})
    if (const std::string text = text_of(envelope, field); !text.empty()) rows.push_back({field, text});
  for (const char* field : {"ts", "lease_expires_at", "completed_at", "dead_at"})
    if (const json::value* time = envelope.if_contains(field); time != nullptr && time->is_double())
      rows.push_back({field, time_text(static_cast<long long>(std::clamp(time->get_double(), 0.0, 1e11) * 1000))});
  if (const long long attempts = number_of(envelope, "attempts"); attempts > 1)
    rows.push_back(
        {"attempts", std::to_string(attempts) + (envelope.contains("status") ? "" : " (you may have it already)")});
  std::string text = table(rows, "");
  for (const char* field : {"payload", "result"})
    if (const json::value* value = envelope.if_contains(field))
      text += std::string(field) + ":\n" + printable_block(value_text(*value), "  ");
  return text;
}

}  // namespace inbox_poller::poller::cli
