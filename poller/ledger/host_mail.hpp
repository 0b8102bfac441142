// Mail between hosts, as this host's ledger has it: what was accepted here and is for members of other hosts, until their
// ledger has it; and what came from them, until it stands in the inbox here. The tables are made when the first team with
// hosts is served: a ledger without them is whole, and programs that know nothing of hosts pass them over.
#pragma once

#include <set>

#include "poller/ledger/messages.hpp"

namespace inbox_poller::poller {

BOOST_DEFINE_ENUM_CLASS(HostWay, out, in)
inline std::string_view to_string(HostWay way) { return schema::name_of(way); }

/// out: accepted here; put into the engine; there, in the other host's ledger; read, consumed there; refused there.
/// in: received; there, in the inbox (the lead's: in our journal); read by its owner; refused by us.
BOOST_DEFINE_ENUM_CLASS(HostMailState, waiting, put, there, read, refused)
inline std::string_view to_string(HostMailState state) { return schema::name_of(state); }

struct HostMailRow {
  long long id = 0;  // order of acceptance
  std::string team;
  HostWay way = HostWay::out;
  std::string host;   // out: whose stream it goes into ("@h2", "lead"); in: the host that wrote it
  std::string inbox;  // whose it is, by member name
  schema::MessageKey key;
  std::string sender;
  std::string type;
  std::string request_id;
  std::string entry;     // bytes, as they stood in the inbox or as it is written there
  bool lead = false;     // out: the lead said it, under a lease; in: it is for the lead
  bool final = false;    // the answer to an ask
  long long number = 0;  // in the order of its stream
  EpochMs created_ms = 0;
  HostMailState state = HostMailState::waiting;
  EpochMs state_ms = 0;  // since when
  int attempts = 0;      // out: times put because nothing was heard; in: 1, for the lead, and handed over to another host
  int told = 0;          // in: what its sender was told: 1 that it is there, 2 what became of it
  std::string problem;   // refused: why
  bool unproven = false;  // in, for the lead: its key is not the one that what it says gives
};
/// The key under which the journal has a letter for the lead. Whoever can guess what somebody on another host is about
/// to write must not be able to use up its key.
schema::MessageKey journal_key(const HostMailRow&);

/// What a host says of letters that came to it.
struct HostWord {
  std::string stream;  // its own
  bool leads = false;  // it leads, so what was put for the lead is with it
  HostMailState state = HostMailState::there;
  std::string problem;  // refused: why
};

/// How much of one way and host is where.
struct HostMailCount {
  HostWay way = HostWay::out;
  std::string host;
  long long waiting = 0;  // not put; not filed
  long long put = 0;      // out: put, and nothing heard
  long long there = 0;
  EpochMs oldest_ms = 0;  // of what waits or was put; 0: none
};

/// What this host knows of the engine.
struct HostPlaceRow {
  std::string team;
  std::int64_t epoch = 0;  // the highest that we led under or heard of
  std::string place;       // what told the engine's data from other data
  std::string leader;      // the host that led when we last looked
};

/// A member of another host that was taken out of the team, as its host told it then: it is somebody new only when it
/// joined later.
struct HostRemovedRow {
  std::string team;
  std::string member;
  long long joined_ms = 0;  // by its own host's clock
};

class HostMailTable {
 public:
  explicit HostMailTable(Database& database) : database_(database) {}

  /// Makes the tables, if they are not there.
  Status prepare();

  /// A new row; `out` gets its number. False when there is one of this way, host, inbox and key.
  Result<bool> add(HostMailRow);
  Result<std::optional<HostMailRow>> find(std::string_view team, HostWay, std::string_view host, std::string_view inbox,
                                          const schema::MessageKey&);
  /// Our letter with this key to this inbox, wherever it goes; without its bytes, as find() and untold().
  Result<std::optional<HostMailRow>> sent(std::string_view team, std::string_view inbox, const schema::MessageKey&);
  /// For `history`: the newest that fit, oldest of them first; also those that are messages of the journal.
  Result<std::vector<HostMailRow>> latest(const MessageTable::Wanted&, int limit);
  /// For `trace`: whose key begins so; about this ask. Nothing where no team has hosts.
  Result<std::vector<HostMailRow>> like(std::string_view prefix, int limit);
  Result<std::vector<HostMailRow>> of_request(std::string_view request_id, int limit);
  /// Of these rows. What its receiver was faster to speak of than the engine was to confirm is not `put` any more.
  Status set(std::string_view team, const std::vector<long long>& ids, HostMailState, EpochMs now,
             std::string_view problem = {});

  // --- out ---
  /// Streams for which something waits. Without `leading`, nothing that the lead said goes.
  Result<std::vector<std::string>> streams(std::string_view team, bool leading);
  /// The first of them, as many as go together: at least one, about 16 MiB at most.
  Result<std::vector<HostMailRow>> waiting(std::string_view team, std::string_view stream, bool leading, int limit);
  /// The number of the last one before this that is put and of which nothing was heard; for the lead, also of what is
  /// there and not settled.
  Result<long long> after(std::string_view team, std::string_view stream, long long number);
  /// What the receiving host says of ours with these keys. Nothing goes back.
  Status heard(std::string_view team, const HostWord&, const std::vector<std::string>& keys, EpochMs now);
  /// All of this stream that was put before and of which nothing was heard waits again, as another attempt.
  Status put_again(std::string_view team, std::string_view stream, EpochMs now);
  /// Streams in which something was put before then, and nothing was heard.
  Result<std::vector<std::string>> unheard(std::string_view team, EpochMs before);
  /// The engine has lost something, or may have: all that was put and is not known to be there waits again, and what the
  /// lead was sent and has not settled, with `lead`.
  Status put_all_again(std::string_view team, bool lead, EpochMs now);

  // --- in ---
  /// The number of the last one that came from this host; 0: none did.
  Result<long long> last_number(std::string_view team, std::string_view host, bool for_lead);
  /// Not those for these inboxes.
  Result<std::vector<HostMailRow>> to_file(std::string_view team, int limit, const std::set<std::string>& without = {});
  Result<std::vector<HostMailRow>> filed(std::string_view team);
  Result<std::vector<HostMailRow>> for_lead(std::string_view team, std::string_view host, long long behind, int limit);
  Result<std::vector<std::string>> hosts_with_mail_for_lead(std::string_view team);
  /// The answer to this ask of this member that came first, if one did.
  Result<std::optional<HostMailRow>> answer_to(std::string_view team, std::string_view inbox, std::string_view request_id);
  /// What the lead has settled by now: delivered, refused, decided with an answer that the asker's host has. An answer
  /// that did not leave this host is none: the next leader is asked.
  Status settle_of_lead(std::string_view team, EpochMs now);
  /// Another host leads: what the lead has not settled is not ours any more, until it is heard again.
  Status hand_over(std::string_view team);
  /// Letters of this type that are not yet filed and whose request no shutdown here is about; the oldest `limit`.
  Result<std::vector<HostMailRow>> unrecorded_ends(std::string_view team, std::string_view type, int limit);
  /// It was: as this from now on.
  Status take_up(long long id, HostMailState, EpochMs now);
  /// Of which this host was not told.
  Result<std::vector<HostMailRow>> untold(std::string_view team, std::string_view host, int limit);
  Result<std::vector<std::string>> hosts_to_tell(std::string_view team);
  /// They were told that much.
  Status tell(const std::vector<long long>& ids, int told);
  /// Told again: it was asked once more, or the engine lost something.
  Status tell_again(std::string_view team, const std::vector<long long>& ids);
  Status tell_all_again(std::string_view team);

  Result<std::vector<HostMailCount>> counts(std::string_view team);
  /// How many rows of this way are under way: not there, and not refused. With a host, of it alone.
  Result<long long> queued(std::string_view team, HostWay, std::string_view host = {});
  Result<HostPlaceRow> place(std::string_view team);
  Status set_place(const HostPlaceRow&);
  Result<std::vector<HostRemovedRow>> removed(std::string_view team);
  Status set_removed(const HostRemovedRow&);
  /// What ended before then; the last one of each stream stays, for its number.
  Status prune(std::string_view team, EpochMs before);

 private:
  Database& database_;
  bool prepared_ = false;
};

}  // namespace inbox_poller::poller
