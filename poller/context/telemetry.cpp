#include "poller/context/telemetry.hpp"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "poller/context/log_text.hpp"
#include "poller/filesystem.hpp"
#include "schema/ids.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"
#include "schema/secrets.hpp"

namespace inbox_poller::poller {
namespace {

using config::LogLevel;

struct EventInfo {
  Event event;
  std::string_view name;
  LogLevel level;
};

// In the order of the enum; the assertion below detects a missing or misplaced line.
constexpr std::array events{
    EventInfo{Event::daemon_started, "daemon.started", LogLevel::info},
    EventInfo{Event::daemon_warning, "daemon.warning", LogLevel::warn},
    EventInfo{Event::daemon_stopping, "daemon.stopping", LogLevel::info},
    EventInfo{Event::daemon_stopped, "daemon.stopped", LogLevel::info},
    EventInfo{Event::daemon_fault, "daemon.fault", LogLevel::error},
    EventInfo{Event::daemon_reloaded, "daemon.reloaded", LogLevel::info},
    EventInfo{Event::daemon_reload_refused, "daemon.reload_refused", LogLevel::warn},
    EventInfo{Event::poll_slow, "poll.slow", LogLevel::warn},
    EventInfo{Event::roster_appeared, "roster.appeared", LogLevel::info},
    EventInfo{Event::roster_vanished, "roster.vanished", LogLevel::info},
    EventInfo{Event::roster_changed, "roster.changed", LogLevel::info},
    EventInfo{Event::roster_unreadable, "roster.unreadable", LogLevel::warn},
    EventInfo{Event::roster_restored, "roster.restored", LogLevel::warn},
    EventInfo{Event::roster_mode, "roster.mode", LogLevel::info},
    EventInfo{Event::member_unreachable, "member.unreachable", LogLevel::warn},
    EventInfo{Event::roster_ignored, "roster.ignored", LogLevel::warn},
    EventInfo{Event::inbox_state, "inbox.state", LogLevel::info},
    EventInfo{Event::inbox_unreadable, "inbox.unreadable", LogLevel::warn},
    EventInfo{Event::inbox_quarantined, "inbox.quarantined", LogLevel::warn},
    EventInfo{Event::inbox_compacted, "inbox.compacted", LogLevel::info},
    EventInfo{Event::inbox_lock_foreign, "inbox.lock_foreign", LogLevel::warn},
    EventInfo{Event::inbox_full, "inbox.full", LogLevel::warn},
    EventInfo{Event::inbox_orphaned, "inbox.orphaned", LogLevel::warn},
    EventInfo{Event::inbox_competing_consumer, "inbox.competing_consumer", LogLevel::warn},
    EventInfo{Event::inbox_role, "inbox.role", LogLevel::warn},
    EventInfo{Event::message_accepted, "message.accepted", LogLevel::info},
    EventInfo{Event::message_rejected, "message.rejected", LogLevel::warn},
    EventInfo{Event::message_malformed, "message.malformed", LogLevel::warn},
    EventInfo{Event::message_duplicate, "message.duplicate", LogLevel::info},
    EventInfo{Event::message_already_read, "message.already_read", LogLevel::info},
    EventInfo{Event::message_marked, "message.marked", LogLevel::debug},
    EventInfo{Event::message_ignored, "message.ignored", LogLevel::info},
    EventInfo{Event::message_consumed, "message.consumed", LogLevel::info},
    EventInfo{Event::request_pending, "request.pending", LogLevel::info},
    EventInfo{Event::request_decided, "request.decided", LogLevel::info},
    EventInfo{Event::request_repeated, "request.repeated", LogLevel::info},
    EventInfo{Event::request_unanswered, "request.unanswered", LogLevel::warn},
    EventInfo{Event::request_reminded, "request.reminded", LogLevel::info},
    EventInfo{Event::request_answered_by_lead, "request.answered_by_lead", LogLevel::info},
    EventInfo{Event::reply_written, "reply.written", LogLevel::info},
    EventInfo{Event::reply_finished, "reply.finished", LogLevel::debug},
    EventInfo{Event::reply_read, "reply.read", LogLevel::info},
    EventInfo{Event::reply_deferred, "reply.deferred", LogLevel::warn},
    EventInfo{Event::reply_rewritten, "reply.rewritten", LogLevel::warn},
    EventInfo{Event::reply_failed, "reply.failed", LogLevel::error},
    EventInfo{Event::delivery_offered, "delivery.offered", LogLevel::info},
    EventInfo{Event::delivery_delivered, "delivery.delivered", LogLevel::info},
    EventInfo{Event::delivery_requeued, "delivery.requeued", LogLevel::info},
    EventInfo{Event::delivery_failed, "delivery.failed", LogLevel::warn},
    EventInfo{Event::delivery_method, "delivery.method", LogLevel::info},
    EventInfo{Event::delivery_expired, "delivery.expired", LogLevel::warn},
    EventInfo{Event::lead_state, "lead.state", LogLevel::info},
    EventInfo{Event::lead_permission, "lead.permission", LogLevel::info},
    EventInfo{Event::lead_accepted, "lead.accepted", LogLevel::info},
    EventInfo{Event::approver_notified, "approver.notified", LogLevel::info},
    EventInfo{Event::approver_notify_failed, "approver.notify_failed", LogLevel::warn},
    EventInfo{Event::answer_foreign, "answer.foreign", LogLevel::info},
    EventInfo{Event::answer_malformed, "answer.malformed", LogLevel::warn},
    EventInfo{Event::answer_forged, "answer.forged", LogLevel::warn},
    EventInfo{Event::worker_verifies_lead, "worker.verifies_lead", LogLevel::warn},
    EventInfo{Event::shutdown_requested, "shutdown.requested", LogLevel::info},
    EventInfo{Event::shutdown_state, "shutdown.state", LogLevel::info},
    EventInfo{Event::shutdown_reminded, "shutdown.reminded", LogLevel::info},
    EventInfo{Event::shutdown_signaled, "shutdown.signaled", LogLevel::warn},
    EventInfo{Event::shutdown_stuck, "shutdown.stuck", LogLevel::warn},
    EventInfo{Event::task_assigned, "task.assigned", LogLevel::info},
    EventInfo{Event::task_released, "task.released", LogLevel::info},
    EventInfo{Event::task_reported, "task.reported", LogLevel::info},
    EventInfo{Event::task_report_failed, "task.report_failed", LogLevel::warn},
    EventInfo{Event::rule_added, "rule.added", LogLevel::info},
    EventInfo{Event::rule_removed, "rule.removed", LogLevel::info},
    EventInfo{Event::setting_sent, "setting.sent", LogLevel::info},
    EventInfo{Event::setting_applied, "setting.applied", LogLevel::info},
    EventInfo{Event::setting_not_applied, "setting.not_applied", LogLevel::warn},
    EventInfo{Event::control_listening, "control.listening", LogLevel::info},
    EventInfo{Event::control_command, "control.command", LogLevel::debug},
    EventInfo{Event::control_problem, "control.problem", LogLevel::warn},
    EventInfo{Event::ledger_fault, "ledger.fault", LogLevel::error},
    EventInfo{Event::ledger_begun, "ledger.begun", LogLevel::info},
    EventInfo{Event::ledger_gone, "ledger.gone", LogLevel::error},
    EventInfo{Event::ledger_saved, "ledger.saved", LogLevel::warn},
    EventInfo{Event::ledger_recovered, "ledger.recovered", LogLevel::info},
    EventInfo{Event::ledger_set_aside, "ledger.set_aside", LogLevel::warn},
    EventInfo{Event::ledger_pruned, "ledger.pruned", LogLevel::info},
    EventInfo{Event::cluster_leader, "cluster.leader", LogLevel::warn},
    EventInfo{Event::cluster_degraded, "cluster.degraded", LogLevel::warn},
    EventInfo{Event::cluster_recovered, "cluster.recovered", LogLevel::info},
    EventInfo{Event::replication_queued, "replication.queued", LogLevel::info},
    EventInfo{Event::replication_received, "replication.received", LogLevel::info},
    EventInfo{Event::replication_rejected, "replication.rejected", LogLevel::warn},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i].event != static_cast<Event>(i)) return false;
  return events.size() == static_cast<std::size_t>(last_event) + 1;
}
static_assert(in_order(), "every event needs its line above, in the order of the enum");

const EventInfo& info(Event event) { return events[static_cast<std::size_t>(event)]; }

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  std::abort();
}

EpochMs wall_ms() { return SystemClock().wall_ms(); }

constexpr std::size_t max_field = 2000;  // bytes of one value in one line

/// Limits the length and masks secrets.
std::string prepared(std::string_view value) {
  std::string text = schema::mask_secrets(value.substr(0, max_field));
  if (value.size() > max_field) text += "…";
  return text;
}

/// Quotes a text as JSON for strict parsers, even if it is not UTF-8. Escapes everything that steers a terminal, is
/// invisible or turns the reading direction.
std::string quoted(std::string_view text) { return schema::printable_json(schema::quote(text)); }

/// True for a value that needs no work: short, nothing to escape, no start of a secret. Nearly every value is like
/// this.
bool is_harmless(std::string_view value) {
  if (value.size() > max_field) return false;
  for (std::size_t i = 0; i < value.size(); ++i)
    if (value[i] < ' ' || value[i] > '~' || value[i] == '"' || value[i] == '\\' || schema::may_begin_secret(value, i))
      return false;
  return true;
}

/// True for the usual key of a message: no secret begins with such a text.
bool is_key(std::string_view value) {
  return value.size() == 32 && std::all_of(value.begin(), value.end(),
                                           [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Appends a line. Single characters are appended as such, because a drain logs three lines of seven fields a message.
void append_json(std::string& line, Event event, const Fields& fields, std::string_view time) {
  line.append(R"({"ts":")").append(time).append(R"(","level":")").append(schema::name_of(event_level(event)));
  line.append(R"(","event":")").append(event_name(event));
  line += '"';
  for (const auto& [name, value] : fields) {
    line += ',';
    line += '"';
    line.append(name);
    line += '"';
    line += ':';
    const bool number = name.ends_with("_ms") || name == "count" || name == "bytes" || name == "attempts";
    if (number) {
      line += value;
    } else if (is_key(value) || is_harmless(value)) {
      line += '"';
      line += value;
      line += '"';
    } else {
      line += quoted(prepared(value));
    }
  }
  line += '}';
}

/// True if standard error is a journal stream. The journal takes a line's level from a leading `<N>` and removes it.
bool is_journal(int descriptor) {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat found = {};
  return stream != nullptr && ::fstat(descriptor, &found) == 0 &&
         stream == std::to_string(found.st_dev) + ':' + std::to_string(found.st_ino);
}

/// Checks a log file before appending: created 0600 by us, or an existing regular file that is not a link.
Status check_log_file(const std::string& path) {
  PosixFileSystem files;
  Status usable = require_trusted_above(path);
  if (usable.ok()) {
    const auto file = files.open_append(absolute, path);
    usable = file ? require_trusted(file->stat, path) : Status(file.error());
  }
  if (usable.ok()) return Done{};
  return Error{"log.file", "log.file cannot be used: " + usable.error().message};
}

Result<spdlog::sink_ptr> open_log_file(const std::string& path) {
  constexpr std::size_t log_file_size = std::size_t{16} << 20;
  constexpr std::size_t log_files = 5;
  TRY(check_log_file(path));
  try {
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, log_file_size, log_files);
    sink->set_pattern("%v");
    return spdlog::sink_ptr(std::move(sink));
  } catch (const spdlog::spdlog_ex& ex) {
    return Error{"log.file", path + ": " + ex.what()};
  }
}

}  // namespace

std::string_view event_name(Event event) { return info(event).name; }
LogLevel event_level(Event event) { return info(event).level; }

Result<std::unique_ptr<Telemetry>> Telemetry::open(const config::LogSettings& settings) {
  spdlog::sink_ptr sink;
  const bool to_file = !settings.file.empty();
  const bool terminal = !to_file && ::isatty(STDERR_FILENO) == 1;
  if (to_file) {
    TRY(auto opened, open_log_file(settings.file));
    sink = std::move(opened);
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
  }
  auto logger = std::make_shared<spdlog::logger>("inbox-poller", std::move(sink));
  logger->set_pattern("%v");
  logger->set_level(to_spdlog(settings.level));
  logger->flush_on(spdlog::level::debug);
  // A log that cannot be written (full disk) must not stop the daemon, nor fill standard error with its own errors.
  logger->set_error_handler([](const std::string&) {});
  const bool json =
      settings.format == config::LogFormat::json || (settings.format == config::LogFormat::automatic && !terminal);
  std::unique_ptr<Telemetry> telemetry(new Telemetry(std::move(logger)));
  telemetry->file_ = settings.file;
  telemetry->json_ = json;
  telemetry->terminal_ = terminal;
  telemetry->color_ = terminal && std::getenv("NO_COLOR") == nullptr;
  telemetry->journal_ = !to_file && is_journal(STDERR_FILENO);
  return telemetry;
}

Telemetry::Telemetry(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
Telemetry::~Telemetry() = default;

void Telemetry::set_level(config::LogLevel level) { logger_->set_level(to_spdlog(level)); }

void Telemetry::keep_file() {
  struct stat now {};
  if (file_.empty()) return;
  const bool there = ::lstat(file_.c_str(), &now) == 0;
  const bool is_first = inode_ == 0;
  if (there && (is_first || (now.st_dev == device_ && now.st_ino == inode_))) {
    device_ = now.st_dev;
    inode_ = now.st_ino;
    return;
  }
  auto opened = open_log_file(file_);  // rotation by the logger ends here too: it opens the same file again
  if (!opened) {
    if (!std::exchange(is_complained_, true))
      std::fprintf(stderr, "inbox-poller: the log file is gone, and a new one cannot be made; nothing is logged until it can: %s\n",
                   opened.error().message.c_str());
    return;
  }
  is_complained_ = false;
  logger_->sinks().front() = *std::move(opened);
  if (::lstat(file_.c_str(), &now) != 0) return;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  if (!there)
    emit(Event::daemon_warning, {{"path", file_}, {"reason", "the log file was removed or moved away; this one goes on, and "
                                                             "what was logged in the last second went with the other"}});
}

void Telemetry::count(Event event, const Fields& fields) {
  if (event != Event::request_decided) return;
  const auto field = [&](std::string_view wanted) -> std::string {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == wanted; });
    return found == fields.end() ? std::string() : found->second;
  };
  const bool waited = field("old") != "received";
  tally(field("team")).decided({field("type"), field("new"), field("by")}, waited ? std::atoll(field("latency_ms").c_str()) : -1);
}

void Telemetry::emit(Event event, const Fields& fields) {
  count(event, fields);
  const auto level = to_spdlog(event_level(event));
  if (!logger_->should_log(level)) return;
  const EpochMs now = wall_ms();
  std::string text;
  append_line(text, event, fields, now, schema::iso_timestamp(now));
  logger_->log(level, spdlog::string_view_t(text));
}

void Telemetry::append_line(std::string& lines, Event event, const Fields& fields, EpochMs at_ms, std::string_view time) const {
  if (journal_) lines += journal_prefix(event_level(event));
  if (json_)
    append_json(lines, event, fields, time);
  else
    lines += log_text(event, fields, at_ms, color_);
}

void Telemetry::welcome(const std::string& lines) {
  if (terminal_ && !json_) logger_->log(spdlog::level::critical, spdlog::string_view_t(lines));
}

void Telemetry::emit(std::span<const LoggedEvent> events) {
  constexpr std::size_t little = std::size_t{64} << 10;
  if (events.empty()) return;
  const EpochMs now = wall_ms();
  const std::string time = schema::iso_timestamp(now);
  std::string lines;
  const auto write = [&] {
    // Each line has passed its own level already, and the pattern shows none.
    if (!lines.empty()) logger_->log(spdlog::level::critical, spdlog::string_view_t(lines));
    lines.clear();
  };
  for (const auto& [event, fields] : events) {
    count(event, fields);
    if (!logger_->should_log(to_spdlog(event_level(event)))) continue;
    if (!lines.empty()) lines += '\n';
    append_line(lines, event, fields, now, time);
    if (lines.size() >= little) write();
  }
  write();
}

HistoryRow history_line(Event event, const Fields& fields, EpochMs at_ms) {
  HistoryRow row;
  row.at_ms = at_ms;
  row.event = event_name(event);
  for (const auto& [name, value] : fields) {
    if (name == "team") {
      row.team = value;
    } else if (name == "message_key") {
      row.message_key = value;
    } else if (name == "request_id" || name == "task_id") {
      row.request_id = value;
    } else if (!value.empty()) {
      if (!row.detail.empty()) row.detail += "  ";
      row.detail += std::string(name) + "=" + schema::mask_secrets(std::string_view(value).substr(0, max_field));
    }
  }
  return row;
}

}  // namespace inbox_poller::poller
