#include "poller/delivery/sinks.hpp"

#include <algorithm>

#include "handlers/request_block.hpp"
#include "handlers/text.hpp"
#include "handlers/unsent_report.hpp"
#include "poller/child.hpp"
#include "poller/filesystem.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"
#include "schema/teammate_message.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

/// Cuts the text and returns the note about it; empty when the text is whole.
std::string cut(std::string& text, std::size_t limit) {
  if (text.size() <= limit) return {};
  const auto whole = text.size();
  text.resize(handlers::beginning(text, limit).size());
  return "[cut: " + std::to_string(text.size()) + " of " + std::to_string(whole) +
         " bytes shown; the whole message is in the ledger: inbox-poller trace]";
}

Status judge_exit(const std::string& program, const ChildResult& end) {
  if (end.exit_code == 0) return Done{};
  const auto how =
      end.exit_code > 0 ? "exit code " + std::to_string(end.exit_code) : "signal " + std::to_string(end.signal);
  return Error{"sink.exec",
               "delivery.exec: " + program + " ended with " + how + ": the batch is kept and offered again"};
}

/// True after an incomplete earlier batch, and when that is unknown.
bool ends_inside_a_line(FileSystem& files, const std::string& path, const FileStat& stat) {
  if (stat.size == 0) return false;
  const auto file = files.open_read(absolute, path);
  char last = 0;
  if (!file) return true;
  const auto read = files.read_at(*file, &last, 1, stat.size - 1);
  return !read || *read != 1 || last != '\n';
}

}  // namespace

LeasedMessage outgoing(MessageRow row, const schema::Roster& roster, const config::TeamConfig& config) {
  LeasedMessage message;
  message.id = row.id;
  message.key = std::move(row.key);
  message.from = std::move(row.sender);
  message.timestamp = std::move(row.message.timestamp);
  message.received_ms = row.received_ms;
  message.attempts = row.attempts;
  if (row.type.ends_with("_requested")) message.request_id = std::move(row.request_id);
  message.type = std::move(row.type);
  message.summary = std::move(row.message.summary);
  const auto most = static_cast<std::size_t>(config.limits.message.count);
  if (message.type == handlers::unsent_type) {
    const bool whole = config.delivery.unsent_reports == config::UnsentPolicy::whole;
    auto shown = handlers::shown_report(row.message.text, message.key.value, whole, most);
    message.note = std::move(shown.before);
    message.text = std::move(shown.text);
    message.cut = std::move(shown.after);
  } else {
    message.text = std::move(row.message.text);
    message.cut = cut(message.text, most);
  }
  if (const auto* member = roster.find(message.from)) message.color = member->color;
  return message;
}

std::string noted_text(const LeasedMessage& message) {
  return (message.note.empty() ? "" : message.note + "\n") + message.text +
         (message.cut.empty() ? "" : "\n" + message.cut);
}

std::string json_line(const LeasedMessage& m) {
  using schema::quote;
  const auto text = noted_text(m);
  const auto line = "{\"message_key\":" + quote(m.key.value) + ",\"from\":" + quote(m.from) +
                    ",\"color\":" + quote(m.color) + ",\"summary\":" + quote(m.summary) +
                    ",\"timestamp\":" + quote(m.timestamp) + ",\"type\":" + quote(m.type) + ",\"text\":" + quote(text) +
                    ",\"received_ms\":" + std::to_string(m.received_ms) +
                    ",\"attempts\":" + std::to_string(m.attempts) +
                    (m.request_id.empty() ? "" : ",\"request_id\":" + quote(m.request_id)) + "}";
  return schema::printable_json(line);
}

std::string block(const std::vector<LeasedMessage>& messages) {
  std::vector<schema::TeammateMessage> blocks;
  blocks.reserve(messages.size());
  for (const auto& message : messages) {
    schema::TeammateMessage block{message.from, message.color, message.summary,
                                  message.text, message.note,  message.cut};
    if (message.attempts > 1)
      block.before = "[may be a repeat: message " + message.key.value + " was offered before]" +
                     (message.note.empty() ? "" : "\n" + message.note);
    if (handlers::is_type_of_ours(message.type)) {  // a name that no worker has, because a worker could write the same
                                                    // text
      block.teammate_id = "system";
      block.color.clear();
    }
    blocks.push_back(std::move(block));
  }
  return schema::render(blocks);
}

asio::awaitable<Status> deliver_exec(const config::ExecSink& sink, const std::string& team, std::string input) {
  ChildCommand command;
  command.argv = sink.argv;
  command.input = std::move(input);
  command.environment = {{"INBOX_POLLER_TEAM", team}};
  command.timeout = sink.timeout;
  command.most_output = 0;
  CO_TRY(const auto end, co_await run_child(std::move(command)));
  if (!end.timed_out) co_return judge_exit(sink.argv[0], end);
  co_return Error{"sink.exec", "delivery.exec: " + sink.argv[0] + " took longer than " +
                                   std::to_string(sink.timeout.count()) + " ms and was ended: the batch is kept"};
}

Status deliver_file(FileSystem& files, const std::string& path, const std::vector<LeasedMessage>& messages) {
  const auto file = files.open_append(absolute, path);
  if (!file) return in_context("delivery.file", file.error());
  Status ours = require_trusted(file->stat, path);  // text from other users would reach the lead
  if (ours.ok()) ours = require_trusted_above(path);
  if (!ours) return in_context("delivery.file", ours.error());
  if (file->stat.links > 1)  // a trap, or another user's copy: our text would appear there as well
    return Error{"io.second_name", "delivery.file: " + path +
                                       " has a second name (a hard link), under which what is for the "
                                       "lead could be read or changed; write to a file of its own"};
  std::string lines = ends_inside_a_line(files, path, file->stat) ? "\n" : "";
  for (const auto& message : messages) lines += json_line(message) + "\n";
  if (auto written = files.append(*file, lines); !written) return in_context("delivery.file", written.error());
  Status synced = files.sync(*file);
  // The name of a new file, too. Each time, because a killed daemon may have left it out; an unchanged folder is soon
  // synced.
  const auto folder = files.open_dir(absolute, path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)));
  if (synced.ok() && folder) synced = files.sync_dir(*folder);
  if (!synced) return in_context("delivery.file", synced.error());
  return Done{};
}

}  // namespace inbox_poller::poller
