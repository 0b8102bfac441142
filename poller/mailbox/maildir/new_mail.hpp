// The unread messages of one actor: the files of new/ in the order of their envelopes, and the taking of one.
// Receivers and times of delivery are not decided here.
// Invariants: identity is the envelope's id (without one, the file). Order is the envelope's `ts`, then the file name.
// A message is taken by one rename to cur/ and is never deleted. An unreadable file stays in place and is read again
// when it has changed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "poller/mailbox/maildir/id_index.hpp"
#include "poller/mailbox/maildir/leaving.hpp"
#include "poller/mailbox/maildir/maildir_root.hpp"
#include "poller/mailbox/maildir/reading.hpp"

namespace inbox_poller::poller {

/// An unread message without its payload; `operator<` is the order of reading.
struct Mail {
  double ts = 0;
  std::string name;  // of the file
  std::string id, from, type, reply_to;

  bool operator<(const Mail& other) const { return std::tie(ts, name) < std::tie(other.ts, other.name); }
};

/// The unread mail of one actor. One thread; `root` must outlive this object.
class NewMail {
 public:
  /// `keep` is the number of bytes that look() keeps for open() until rest(), so that a caller that opens all messages
  /// reads them once. The threads of `pool` read a part of 256 new letters or more, while the caller reads the others.
  NewMail(const MaildirRoot& root, std::string actor, std::size_t keep = 0, boost::asio::thread_pool* pool = nullptr)
      : root_(root), actor_(std::move(actor)), keep_(keep), pool_(pool), taken_(root, actor_ + "/cur") {}

  [[nodiscard]] const std::string& actor() const { return actor_; }
  /// Returns the path of new/, to be watched.
  [[nodiscard]] std::string new_folder() const { return root_.path() + '/' + actor_ + "/new"; }
  /// Makes missing folders new/ and cur/. Errors: those of MaildirRoot::made_folder().
  Status make();

  /// Lists new/ and reads the new files. The folder stays open until rest(), for open() and take().
  /// Errors: those of MaildirRoot::names().
  Status look();
  /// Closes the folders and drops the kept bytes, for a caller with many mailboxes.
  void rest();
  /// Returns the unread messages, oldest first; valid until the next call that is not const.
  [[nodiscard]] const std::set<Mail>& in_order() const { return order_; }
  /// Returns the unreadable files with the reason, for people.
  [[nodiscard]] const std::map<std::string, std::string>& unreadable() const { return reasons_; }

  /// A message that open() returned. The lock, if any, lasts as long as `held` is open.
  struct Open {
    schema::Envelope envelope;
    Held held;
    std::string bytes;  // of the file
  };
  /// Opens the message if its file still holds it; `hold` locks the file against other InboxPoller processes.
  /// Errors: "io.EAGAIN" while another process holds it, "io.ENOENT" if it was taken or replaced.
  Result<Open> open(const Mail&, bool hold);
  /// Moves a message that became unreadable to unreadable(), until look() can read it again.
  void pass_over(const Mail&, const Error&);
  /// Moves the message to cur/ before it returns; `Durable::no` is for a caller that recognizes the message if it
  /// reappears. Returns false if the file was gone or another one. Errors: "io.…".
  Result<bool> take(const Mail&, const Open&, Durable = Durable::yes);
  /// Makes an empty batch for messages that another thread moves. Errors: "io.…".
  Result<std::shared_ptr<Leaving>> leaving();
  /// Adds the message to the batch; it is not among the unread ones from then on.
  void take(const Mail&, Open&&, Leaving&);
  /// Returns true if this message was taken before, because a peer sent it twice. A message of equal id with another
  /// sender, type or payload is not the same message. Errors: "io.…".
  Result<bool> was_taken(const Mail&, const schema::Envelope&);

 private:
  struct Unread {
    std::uint64_t ino = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    bool operator==(const Unread&) const = default;
  };
  struct Known {
    std::set<Mail>::iterator place;
    std::optional<Letterfile> kept;
  };
  void read(const std::string& name, std::optional<Result<Letterfile>> ahead);
  Result<Letterfile> letter(const Mail&, const File&, const FileStat& there);
  Status open_new();
  Status open_cur();
  void forget(const std::string& name);

  const MaildirRoot& root_;
  const std::string actor_;
  const std::size_t keep_;
  boost::asio::thread_pool* const pool_;
  std::size_t kept_ = 0;  // bytes
  std::set<Mail> order_;
  std::map<std::string, Known> known_;    // by the file's name
  std::map<std::string, Unread> unread_;  // unreadable files, as they were seen
  std::map<std::string, std::string> reasons_;
  IdIndex taken_;
  std::shared_ptr<const Directory> new_, cur_;
};

}  // namespace inbox_poller::poller
