// The way between the hosts of one team: streams of letters that one host writes and one reads, a lease on who leads,
// and what each host last told of itself. It is a transport and nothing else: it may lose, repeat or forget whatever it
// holds, and may answer late or never. What was accepted stays in the sender's ledger until the receiver's ledger has it
// (poller/hosts), so none of that loses or doubles a message. Only who wrote a letter is taken from here: the engine's
// access rules let a host append to its own streams only. One object for one team on one host; calls may overlap, except
// that receive() is called by one coroutine. Whatever waits on the network has a deadline; an error means that it is not
// known whether it happened, and everything may be called again.
// Errors: "exchange.down" (not reached, too slow, still loading: come back), "exchange.denied" (name, password, TLS or
// access rules: a person must look), "exchange.full" (it takes nothing more), "exchange.unfit" (its settings would lose
// what it confirmed), "exchange.fault" (anything else). The message is for people and never has a password in it.
// Source: docs/adr/0044-hosts.md.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

/// The stream that whoever leads reads.
inline constexpr std::string_view lead_address = "lead";
/// The streams that this host reads; no member is called so.
inline std::string host_address(std::string_view host) { return "@" + std::string(host); }

/// A longer entry goes to no other host.
inline constexpr std::size_t longest_letter = std::size_t{8} << 20;

/// One letter from this host. Letters to one address are numbered, by the sender's ledger. A receiver that has not got the
/// one that this comes after leaves it: the sender puts both again. The engine keeps all of these and looks at none but
/// `address`, `key` and `attempt`.
struct Frame {
  std::string address;      // host_address() or lead_address: whose stream
  std::string to;           // whose inbox; empty: the host itself
  std::string from;         // a member of the writing host
  std::string type;         // of the payload, or of a word between hosts
  std::string request;      // the id of what it asks or answers; empty: none
  std::string entry;        // bytes, as the sender's ledger keeps them
  schema::MessageKey key;   // the same letter has the same key, however often it is put
  long long number = 0;     // in the order of its address; 0: in none
  long long after = 0;      // the last one before it that is not known to be there; for the lead: to be settled; 0: none
  long long at_ms = 0;      // Unix epoch, the sender's clock: for people
  int attempt = 0;          // put again by its sender, who heard nothing: appended once for each attempt
};

struct PutOutcome {
  enum class What {
    appended,
    was_there,  // this attempt of this key
    fenced,     // somebody else leads: nothing was appended, nor anything behind it
  };
  What what = What::appended;
  std::int64_t epoch = 0;  // with `fenced`: the engine's
};

/// One letter as it was read.
struct ReceivedFrame : Frame {
  std::string host;  // who wrote it: proven by the stream's name
  std::string id;    // the engine's, for acknowledge()
};

/// Who leads, for how long.
struct HostLease {
  bool ours = false;
  std::string holder;               // host name; empty: nobody
  std::int64_t epoch = 0;           // grows with every election; the engine's highest when nobody leads
  std::chrono::milliseconds left{0};  // as the engine counts; to be counted from before the call
};

/// What became of an answer to an ask.
struct AnswerOutcome {
  enum class What {
    decided,    // ours is the answer, and appended with it
    was_ours,   // these bytes were decided before, and are appended (as put() says)
    other,      // another answer was: nothing was appended
    fenced,     // as with put()
  };
  What what = What::decided;
  std::string entry;       // with `other`: that answer's bytes
  std::string host;        // with `other`: who decided
  std::int64_t epoch = 0;  // with `other`: under which epoch; with `fenced`: the engine's
};

inline constexpr std::size_t longest_beat = std::size_t{256} << 10;
/// What a host tells of itself. Kept for 15 s; what is longer is not heard.
struct Heartbeat {
  std::string host;
  std::string told;  // JSON; the engine does not look into it
};

class Broker {
 public:
  virtual ~Broker() = default;

  /// Appends them, in their order; stops at the first that is `fenced`: the result is as long as what was looked at.
  /// With an epoch: as leader, refused when the engine knows a higher one. Without (0): as any host.
  virtual boost::asio::awaitable<Result<std::vector<PutOutcome>>> put(std::vector<Frame> letters,
                                                                       std::int64_t epoch) = 0;

  /// What is new for this host, with `as_leader` for the leader too: what an earlier process of this host was given and
  /// never acknowledged first, then what others who led left so, each stream in its order; of each stream at most so
  /// many. One that is too large to be read, as no honest host writes, has its host and id and nothing else. Waits at
  /// most so long when there is nothing, on a connection of its own.
  virtual boost::asio::awaitable<Result<std::vector<ReceivedFrame>>> receive(bool as_leader, std::size_t most,
                                                                             std::chrono::milliseconds wait) = 0;
  /// Ends a receive() that waits; it returns nothing. Nor does any other call rest before it tries to connect. From the
  /// same thread.
  virtual void wake() = 0;
  /// They are committed, or will not be: not to be given again; after an error they are. Trims what is older than 15
  /// minutes.
  virtual boost::asio::awaitable<Status> acknowledge(std::vector<ReceivedFrame> letters) = 0;

  /// The lease for 10 s if nobody has it, with an epoch above the engine's and above this one (our ledger's). When
  /// somebody has it: his, and nothing changes.
  virtual boost::asio::awaitable<Result<HostLease>> elect(std::int64_t epoch_at_least) = 0;
  /// Ours for 10 s more; not `ours` when it is not any more.
  virtual boost::asio::awaitable<Result<HostLease>> renew(std::int64_t epoch) = 0;
  /// Gives it back, if it is still ours.
  virtual boost::asio::awaitable<Status> resign(std::int64_t epoch) = 0;
  /// Who leads; changes nothing. Every host may ask.
  virtual boost::asio::awaitable<Result<HostLease>> leader() = 0;

  /// Answers, in their order. The first answer to (letter.type, letter.request) is final: each is decided and appended in
  /// one step. As leader only; stops as put() does.
  virtual boost::asio::awaitable<Result<std::vector<AnswerOutcome>>> answer(std::vector<Frame> letters,
                                                                            std::int64_t epoch) = 0;

  /// Which host answered each of these asks (letter.type, letter.request of its answer); empty: none that is known. As leader only.
  virtual boost::asio::awaitable<Result<std::vector<std::string>>> answered(
      std::vector<std::pair<std::string, std::string>> asks) = 0;

  virtual boost::asio::awaitable<Status> beat(Heartbeat) = 0;
  /// What all hosts of the team told last, this one's too.
  virtual boost::asio::awaitable<Result<std::vector<Heartbeat>>> hosts() = 0;

  /// What tells the engine's data from other data: another text after a restart, a failover, or when it was emptied.
  /// Then what it holds is doubtful, and everybody puts what is young again (the same attempt is appended again if it is
  /// not there). Asked before putting, with every beat.
  virtual boost::asio::awaitable<Result<std::string>> place() = 0;
  /// What is wrong with the engine's settings and does not stop us; sentences for people.
  [[nodiscard]] virtual std::vector<std::string> worries() const = 0;
  /// For people: the engine's address without user and password.
  [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace inbox_poller::poller
