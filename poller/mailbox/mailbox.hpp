// The inboxes of one team, as every mailbox system offers them: its writing half. What is written is a neutral message;
// how it is spelt, where it stands and what keeps others from writing at the same moment is the system's own. All calls
// return at once, and calls for one team are made one at a time (from any thread). What it is not: a queue. What was
// decided and is owed lives in the ledger. Source: docs/adr/0030-the-port.md.
#pragma once

#include <span>
#include <string>

#include "schema/ids.hpp"
#include "schema/message.hpp"

namespace inbox_poller::poller {

/// What came of a change somebody asked for.
enum class Put {
  done,     // durable
  already,  // it was so before
  busy,     // somebody else is at it: come back
  blocked,  // by something that does not go by itself: a person must look; `detail` says at what
  gone,     // there is nothing to change: no team, no inbox, no list
  refused,  // what stands there is nothing that we would write to
  fault,    // it cannot be told whether it is done
};

struct PutResult {
  Put put = Put::done;
  std::string detail;  // for people; empty when there is nothing to say
};

/// What became of a message of ours, as of the last look into its inbox.
enum class Fate {
  waiting,   // its owner has not read it
  consumed,  // read, or taken out as its owner takes messages out
  lost,      // gone without having been read
};

class Mailbox {
 public:
  virtual ~Mailbox() = default;

  /// Puts the message into the inbox, behind what stands there, once for each key; makes the inbox if there is none.
  /// Followed from then on.
  virtual PutResult post(const std::string& inbox, const schema::Message&) = 0;
  /// Follows a message that an earlier process posted.
  virtual void follow(const std::string& inbox, const schema::MessageKey&) = 0;
  /// Of a message that is followed.
  [[nodiscard]] virtual Fate fate(const std::string& inbox, const schema::MessageKey&) const = 0;
  /// Nobody asks for its fate any more.
  virtual void let_go(const std::string& inbox, const schema::MessageKey&) = 0;
  /// Whoever owns the inbox will not read these messages of ours, unless it has. `gone` when nobody can read it.
  virtual PutResult retract(const std::string& inbox, std::span<const schema::MessageKey>) = 0;
};

}  // namespace inbox_poller::poller
