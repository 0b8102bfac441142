#include "poller/mailbox/actor_mail.hpp"

#include <boost/json.hpp>

#include "poller/mailbox/envelopes.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

Result<json::object> as_object(const Result<schema::Envelope>& task) {
  if (!task) return with_lease_advice(task.error());
  return task->object();
}

}  // namespace

Status SharedBox::require_sendable(const MessageDraft& draft) const {
  TRY(require_actor_name(draft.to));
  if (draft.to != actor())
    TRY(require_known(draft.to, known_actors_));
  return require_type(draft);
}

Sent SharedBox::sent(const schema::Envelope& message, bool new_mailbox, const std::vector<std::string>& others) const {
  Sent sent{message.object(), new_mailbox, {}};
  if (new_mailbox) sent.note = new_mailbox_note(message.text("to"), actor(), others);
  return sent;
}

Result<json::object> ActorTasks::post(const std::string& type, const json::value& payload, std::optional<double> priority) {
  return as_object(store_.post(actor_, type.empty() ? "task" : type, payload, priority));
}

Result<std::optional<json::object>> ActorTasks::claim(const std::optional<std::string>& type, milliseconds lease) {
  TRY(const auto claimed, store_.claim(actor_, type, lease));
  if (!claimed) return std::optional<json::object>();
  return std::optional(claimed->object());
}

Result<json::object> ActorTasks::complete(const std::string& task, const json::value& result) {
  const auto id = store_.whole_id(task, actor_);
  return as_object(id ? store_.complete(actor_, *id, result) : Result<schema::Envelope>(id.error()));
}

Result<json::object> ActorTasks::heartbeat(const std::string& task, milliseconds lease) {
  const auto id = store_.whole_id(task, actor_);
  return as_object(id ? store_.heartbeat(actor_, *id, lease) : Result<schema::Envelope>(id.error()));
}

Result<json::object> ActorTasks::abandon(const std::string& task, const std::string& reason) {
  const auto id = store_.whole_id(task, actor_);
  return as_object(id ? store_.abandon(actor_, *id, reason) : Result<schema::Envelope>(id.error()));
}

asio::awaitable<Result<std::vector<json::object>>> ActorTasks::sweep() {
  std::vector<json::object> objects;
  for (int scan = 1;; ++scan) {
    CO_TRY(const auto swept, store_.sweep());
    for (const TaskFile& one : swept.gone) objects.push_back(one.task.object());
    if (!swept.has_begun || scan == most_sweeps) co_return objects;
    co_await pause(between_sweeps);
  }
}

}  // namespace inbox_poller::poller
