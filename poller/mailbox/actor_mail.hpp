// What an agent does with mail and tasks, whatever mailbox system lies below: for `inbox-poller box`, for the tools of
// the MCP server, for whoever comes. One object is one actor of one place; it never acts for another. Messages and
// tasks are JSON objects as they are on the wire, fields that we do not know included. What it is not: the mailbox of a
// team that a daemon serves (mailbox.hpp), though one may be carried out by the other.
//
// Every error is for whoever called, a model among them: it names what was wrong and what to give instead. Codes:
//   name.invalid, actor.unknown, payload.invalid, payload.too_large   mend the call
//   task.unknown, task.not_held, task.done                            somebody else has it, or nobody can
//   box.unsupported                                                   this system has no such thing
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

/// What an actor writes to another.
struct Letter {
  std::string to;
  std::string type;
  boost::json::value payload;
  std::string in_reply_to;  // the id of the message that this answers; empty: none
};

/// What became of a letter.
struct Sent {
  boost::json::object message;  // as it was written
  bool new_mailbox = false;     // the addressee had no mailbox; it was made for this message
  std::string note;             // with `new_mailbox`: words about it, and a name that may have been meant
};

/// Which messages are meant; what is not said matches all.
struct Filter {
  std::optional<std::string> type;
  std::optional<std::string> reply_to;  // only answers to the message of this id
};

/// A message that is offered. It stays its owner's until it is acknowledged.
struct HandOut {
  boost::json::object message;  // as it is to be shown: with "attempts" when that is over 1
  std::uint32_t attempts = 1;   // over 1: it was offered before, and may have arrived
  std::string ticket;           // for acknowledge() and give_back()
};

class ActorMail {
 public:
  using Message = boost::json::object;
  using Task = boost::json::object;
  static constexpr std::chrono::seconds default_lease{120};

  virtual ~ActorMail() = default;

  /// Whose operations these are.
  [[nodiscard]] virtual const std::string& actor() const = 0;

  /// Writes a message; durable when it returns. A valid name without a mailbox gets one.
  virtual Result<Sent> send(const Letter&) = 0;
  /// Offers the oldest message that fits and is offered to nobody; nothing when none came within that time (0: only
  /// what is there). Waits without looking again and again, and wakes within 20 ms. Whoever cancels it has taken
  /// nothing. Several may wait at the same time; each message goes to one of them.
  virtual boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter, std::chrono::milliseconds within) = 0;
  /// It has arrived and does not come again. Durable when it returns; an error means that it may come again. A ticket
  /// that is not known (any more) is done.
  virtual Status acknowledge(const std::string& ticket) = 0;
  /// It has not arrived: it is offered again, in its place. So are all tickets when the object goes, and when its
  /// process dies.
  virtual void give_back(const std::string& ticket) = 0;

  /// Writes a task that anybody may claim.
  virtual Result<Task> post(const std::string& type, const boost::json::value& payload) = 0;
  /// Takes the next task, for so long; nothing when none is open. A lease is not a lock: work that outlives it may be
  /// done by another as well, and only one of both can complete it.
  virtual Result<std::optional<Task>> claim(const std::optional<std::string>& type,
                                            std::chrono::milliseconds lease) = 0;
  /// The result of a task that we hold. Not held any more: an error, and the result is kept among the dead letters.
  virtual Result<Task> complete(const std::string& task, const boost::json::value& result) = 0;
  /// Holds it for so long from now.
  virtual Result<Task> heartbeat(const std::string& task, std::chrono::milliseconds lease) = 0;
  /// Gives it back, for another; the reason goes with it.
  virtual Result<Task> abandon(const std::string& task, const std::string& reason) = 0;
  /// Gives back each claimed task whose lease is over, and returns those tasks. Waits some seconds where a holder's
  /// write may be under way; a canceled call leaves what it began to the next one.
  virtual boost::asio::awaitable<Result<std::vector<Task>>> sweep() = 0;

  /// What waits, in figures and ids; changes nothing:
  /// {"actor", "unread", "messages": [{"id", "from", "type", "ts"}], "tasks": {"open", "claimed", "done", "dead",
  /// "mine": [ids]}}; the lists are cut at 100, the figures are not.
  virtual Result<boost::json::object> inbox() = 0;
};

/// The operations of one actor where agents share mail and tasks, with what only a person's commands need. What is done
/// with tasks is the same wherever they are kept.
class SharedBox : public ActorMail {
 public:
  /// Makes the actor's mailbox, so that others find it. Calling it again changes nothing.
  virtual Status make() = 0;
  /// Limits send() to these names and the actor itself. An empty list allows every valid name.
  void set_known_actors(std::vector<std::string> names) { known_actors_ = std::move(names); }

  Result<Task> post(const std::string& type, const boost::json::value& payload) final {
    return post(type, payload, std::nullopt);
  }
  /// Higher priorities are claimed first; 0 unless said.
  Result<Task> post(const std::string& type, const boost::json::value& payload, std::optional<double> priority);
  Result<std::optional<Task>> claim(const std::optional<std::string>& type, std::chrono::milliseconds lease) final;
  Result<Task> complete(const std::string& task, const boost::json::value& result) final;
  Result<Task> heartbeat(const std::string& task, std::chrono::milliseconds lease) final;
  Result<Task> abandon(const std::string& task, const std::string& reason) final;
  boost::asio::awaitable<Result<std::vector<Task>>> sweep() final;
  [[nodiscard]] virtual TaskStore& tasks() = 0;
  /// What is wrong with the place and stops nothing; sentences for people.
  [[nodiscard]] virtual std::vector<std::string> worries() const { return {}; }

 protected:
  /// Checks the addressee's name, the type and the known actors. "name.invalid", "payload.invalid", "actor.unknown".
  [[nodiscard]] Status require_sendable(const Letter&) const;
  /// Builds the result of send(). `others`: who has a mailbox already; read only with `new_mailbox`.
  [[nodiscard]] Sent sent(const schema::Envelope& message, bool new_mailbox, const std::vector<std::string>& others) const;

 private:
  std::vector<std::string> known_actors_;
};

}  // namespace inbox_poller::poller
