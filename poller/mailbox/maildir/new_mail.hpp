// The unread messages of one actor: what stands in new/, in the order of its envelopes, and how one is taken. Who gets
// a message and when is not decided here.
// Invariants: identity is the envelope's id (without one, the file), order its `ts`, then the name; a message is taken by
// one rename to cur/ and is never deleted; a file that cannot be read stays where it is and is looked at again when it
// has changed.
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

/// What is known of an unread message without its payload. The order is the order of reading.
struct Mail {
  double ts = 0;
  std::string name;  // of its file
  std::string id, from, type, reply_to;

  bool operator<(const Mail& other) const { return std::tie(ts, name) < std::tie(other.ts, other.name); }
};

class NewMail {
 public:
  /// `keep`: so many bytes of what a look reads are kept for open(), until rest(); whoever opens all at once reads them
  /// once. `pool`: where half of many is read, while the caller reads the other half.
  NewMail(const MaildirRoot& root, std::string actor, std::size_t keep = 0, boost::asio::thread_pool* pool = nullptr)
      : root_(root), actor_(std::move(actor)), keep_(keep), pool_(pool), taken_(root, actor_ + "/cur") {}

  [[nodiscard]] const std::string& actor() const { return actor_; }
  /// Where news come.
  [[nodiscard]] std::string new_folder() const { return root_.path() + '/' + actor_ + "/new"; }
  /// Makes new/ and cur/ where they are missing.
  Status make();

  /// Lists new/; opens what has come since. The folders stay open from then on, for open() and take().
  Status look();
  /// Closes the folders, until the next look: whoever has many mailboxes and little to do in each.
  void rest();
  /// The oldest first. Valid until the next call of anything else.
  [[nodiscard]] const std::set<Mail>& in_order() const { return order_; }
  /// Files that cannot be read, and why, for people.
  [[nodiscard]] const std::map<std::string, std::string>& unreadable() const { return reasons_; }

  /// The message as it stands there now, when it is still that one; `hold`: as long as this file is open, nobody else
  /// of us has it ("io.EAGAIN" when somebody has). "io.ENOENT": somebody has taken it.
  struct Open {
    schema::Envelope envelope;
    Held held;
    std::string bytes;  // as they stand there
  };
  Result<Open> open(const Mail&, bool hold);
  /// It has gone bad since it was met: among what cannot be read, until a look can read it again.
  void pass_over(const Mail&, const Error&);
  /// Takes it: in cur/ when this returns, durably unless who has it knows it again. True when it was there to be taken.
  Result<bool> take(const Mail&, const Open&, Durable = Durable::yes);
  /// The same for many, which another thread may move: they are added to it, and are not among the unread from then on.
  Result<std::shared_ptr<Leaving>> leaving();
  void take(const Mail&, Open&&, Leaving&);
  /// True when this message has been taken before: a peer has sent it twice. Another one of the same id is another.
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
  std::map<std::string, Unread> unread_;  // what cannot be read, as it was seen
  std::map<std::string, std::string> reasons_;
  IdIndex taken_;
  std::shared_ptr<const Directory> new_, cur_;
};

}  // namespace inbox_poller::poller
