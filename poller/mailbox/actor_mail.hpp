// Mail and task operations of one agent, for any mailbox system: for `inbox-poller mailbox`, for the tools of the MCP
// server, and for later callers. One object acts for one actor of one place, and never for another.
// The mailbox of a team that a daemon serves is another port (mailbox.hpp), though one may implement the other.
// Messages and tasks are JSON objects as on the wire, with unknown fields kept.
// Every error message is for the caller, which may be a model: it names what was wrong and what to give instead.
// Codes:
//   name.invalid, actor.unknown, payload.invalid, payload.too_large   fix the call
//   task.unknown, task.not_held, task.done                            another actor holds the task, or none can
//   mailbox.unsupported                                                   this system does not have the operation
//   io.<ERRNO>, dir.untrusted and others                              nothing was done, unless the text says otherwise
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poller/mailbox/task_store.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

/// A message that an actor sends to another actor.
struct MessageDraft {
  std::string to;
  std::string type;
  boost::json::value payload;
  std::string in_reply_to;  // id of the message that this answers; empty: none
};

/// Result of send().
struct Sent {
  boost::json::object message;  // as written
  bool new_mailbox = false;     // the addressee had no mailbox; send() made one
  std::string note;             // with `new_mailbox`: a sentence about it, with a name that may have been meant
};

/// Selects messages; a member without a value matches all.
struct Filter {
  std::optional<std::string> type;
  std::optional<std::string> reply_to;  // only answers to the message with this id
};

/// A message leased to the caller. Its owner keeps the message until acknowledge().
struct HandOut {
  boost::json::object message;  // as to be shown: with "attempts" when that is over 1
  std::uint32_t attempts = 1;   // over 1: it was leased before, and may have arrived
  std::string ticket;           // for acknowledge() and requeue()
};

/// Messages of one actor.
class ActorMail {
 public:
  using Message = boost::json::object;

  explicit ActorMail(std::string actor) : actor_(std::move(actor)) {}
  virtual ~ActorMail() = default;

  /// Returns the name of the actor for which this object acts.
  [[nodiscard]] const std::string& actor() const { return actor_; }

  /// Writes a message, durably when it returns. Makes the mailbox of a valid name that has none. Errors: name.invalid,
  /// actor.unknown, payload.*, io.<ERRNO>.
  virtual Result<Sent> send(const MessageDraft&) = 0;
  /// Leases the oldest message that matches and is not leased. Returns no value when none arrives within `within` (0:
  /// only messages that are there). Wakes within 20 ms of an arrival, without polling. A canceled call has leased
  /// nothing. Several calls may wait at the same time; each message goes to one of them.
  virtual boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter, std::chrono::milliseconds within) = 0;
  /// Confirms that the message arrived, durably when it returns: it is not leased again. After an error it may be
  /// leased again. Succeeds for a ticket that is unknown, or not known any more.
  virtual Status acknowledge(const std::string& ticket) = 0;
  /// Returns a message that did not arrive: it is leased again, in its place. The destructor, or the end of the
  /// process, returns all open tickets.
  virtual void requeue(const std::string& ticket) = 0;
  /// Reports waiting mail and tasks as figures and ids; changes nothing:
  /// {"actor", "unread", "messages": [{"id", "from", "type", "ts"}], "tasks": {"open", "claimed", "done", "dead",
  /// "mine": [ids]}}. The lists are cut at 100 entries, the figures are not.
  virtual Result<boost::json::object> inbox() = 0;

 protected:
  /// Sets the name that the other side gave.
  void act_as(std::string actor) { actor_ = std::move(actor); }

 private:
  std::string actor_;
};

/// Tasks that agents share, for one actor; the same over every TaskStore. Errors "task.not_held" and "task.unknown" name
/// the next step.
class ActorTasks {
 public:
  using Task = boost::json::object;
  static constexpr std::chrono::seconds default_lease{120};

  /// The store must outlive this object.
  ActorTasks(TaskStore& store, std::string actor) : store_(store), actor_(std::move(actor)) {}

  [[nodiscard]] TaskStore& tasks() const { return store_; }
  /// Writes a task that any actor may claim; higher priorities are claimed first. No value counts as 0.
  /// Errors: payload.*, io.<ERRNO>.
  Result<Task> post(const std::string& type, const boost::json::value& payload, std::optional<double> priority = {});
  /// Claims the next open task for the duration `lease`; no value when none is open. A lease is not a lock: another
  /// actor may do work that outlives its lease, and only one of both can complete the task.
  Result<std::optional<Task>> claim(const std::optional<std::string>& type, std::chrono::milliseconds lease);
  /// Completes a task that this actor holds. Errors: "task.not_held" and "task.done" (the result is kept among the
  /// dead letters), "task.unknown".
  Result<Task> complete(const std::string& task, const boost::json::value& result);
  /// Extends the lease of a held task to `lease` from now. Errors: "task.not_held", "task.done", "task.unknown".
  Result<Task> heartbeat(const std::string& task, std::chrono::milliseconds lease);
  /// Releases a held task for other actors and records the reason. Errors: "task.not_held", "task.done",
  /// "task.unknown".
  Result<Task> abandon(const std::string& task, const std::string& reason);
  /// Releases each claimed task whose lease has expired, and returns those tasks. Waits some seconds where a holder's
  /// write may be under way. The next call finishes the work of a canceled call.
  boost::asio::awaitable<Result<std::vector<Task>>> sweep();

 private:
  TaskStore& store_;
  const std::string actor_;
};

/// Mail and tasks of one actor in a place that agents share, with what only a person's commands need.
class SharedBox : public ActorMail, public ActorTasks {
 public:
  /// Makes the actor's mailbox, so that others find it. Calling it again changes nothing.
  virtual Status make() = 0;
  /// Limits send() to these names and the actor itself. An empty list allows every valid name.
  void set_known_actors(std::vector<std::string> names) { known_actors_ = std::move(names); }
  /// Returns sentences for people about defects of the place that stop no operation.
  [[nodiscard]] virtual std::vector<std::string> worries() const { return {}; }

 protected:
  SharedBox(const std::string& actor, TaskStore& store) : ActorMail(actor), ActorTasks(store, actor) {}

  /// Checks the addressee's name, the known actors and the type. Errors: "name.invalid", "actor.unknown",
  /// "payload.invalid".
  [[nodiscard]] Status require_sendable(const MessageDraft&) const;
  /// Builds the result of send(). `others` are the actors with a mailbox; read only with `new_mailbox`.
  [[nodiscard]] Sent sent(const schema::Envelope& message, bool new_mailbox, const std::vector<std::string>& others) const;

 private:
  std::vector<std::string> known_actors_;
};

}  // namespace inbox_poller::poller
