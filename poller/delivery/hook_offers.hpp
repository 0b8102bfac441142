// What hooks of the lead's session printed and what proves that it reached the model: kept until the session's
// transcript or a later event tells, or a turn passes without it. How it is judged: handlers/hook_proof.hpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/hook_proof.hpp"
#include "poller/clock.hpp"
#include "poller/delivery/sinks.hpp"
#include "poller/delivery/transcript.hpp"

namespace inbox_poller::poller {

struct HookOffer {
  handlers::HookWay way = handlers::HookWay::prompt;
  std::string session;
  std::string text;                       // as it was printed
  std::vector<Offered> messages;  // without their texts
  std::uint64_t place = 0;                // in the transcript, when it was handed out
  SteadyTime at{};
};

class HookOffers {
 public:
  HookOffers(FileSystem& files, const Clock& clock) : files_(files), clock_(clock) {}

  struct Verdict {
    HookOffer offer;
    bool proven = false;
    std::string reason;  // how it is known, or why it comes back
  };

  /// The lead's session now, and its transcript; an empty path where it was not told.
  void follow(const std::string& session, const std::string& transcript);
  /// Where the transcript ends now: what is offered stands behind that.
  std::uint64_t place();
  /// The client's version: its transcript's word, before that has one what the client says to its hooks; empty: not known.
  std::string version();
  /// What the lead's client said of itself to a hook of its session.
  void client_says(schema::ClientMode mode, std::string version, bool attended) {
    told_ = std::move(version);
    client_.mode = mode;
    client_.attended = attended;
  }
  /// All that is known of it.
  const handlers::ClientSight& client() {
    client_.version = version();
    return client_;
  }

  /// It was printed.
  void add(HookOffer offer);

  /// A later event of a session; `prompt` is what was submitted. An event that says nothing of its own only has the
  /// transcript looked at.
  std::vector<Verdict> heard(std::optional<handlers::HookSign> sign, const std::string& session,
                             std::string_view prompt = {});
  /// Once a tick: what the transcript shows meanwhile. `watched`: also look when nothing waits for a proof.
  std::vector<Verdict> look(bool watched);
  /// True once after the transcript showed that a person interrupted the turn.
  bool take_interruption() { return transcript_ && transcript_->take_interruption(); }

  /// Those that wait for a proof.
  [[nodiscard]] std::vector<const HookOffer*> offers() const;
  /// Forgets those of which nothing is lent out any more.
  void forget(const std::function<bool(long long id)>& is_lent);

 private:
  struct Unproven {
    HookOffer offer;
    std::string wanted;                     // comparable
    bool given = false;                     // its line is there
    bool answered = false;                  // and an answer of the model behind it
    std::optional<SteadyTime> passed = {};  // when a turn went by without it
  };
  void read();
  [[nodiscard]] handlers::Transcript said_of(const Unproven&) const;
  std::vector<Verdict> take(const std::function<std::optional<Verdict>(Unproven&)>& judge);

  FileSystem& files_;
  const Clock& clock_;
  std::string session_;
  std::string told_;  // by its hooks' environment; an outer client's word may have come along with it
  handlers::ClientSight client_;
  std::unique_ptr<Transcript> transcript_;
  bool readable_ = false;
  std::vector<Unproven> unproven_;
};

}  // namespace inbox_poller::poller
