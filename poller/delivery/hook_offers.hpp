// Messages that hooks of the lead's session printed, until a proof shows that they reached the model. Proofs come from
// the session's transcript or a later event. A turn without a proof ends the wait. handlers/hook_proof.hpp judges.
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
  handlers::OfferingHook hook = handlers::OfferingHook::prompt;
  std::string session;
  std::string prompt;                     // submitted by the person, with OfferingHook::prompt
  std::string text;                       // as printed
  std::vector<LeasedMessage> messages;  // without their texts
  std::uint64_t place = 0;                // offset in the transcript at the time of the offer
  SteadyTime at{};
};

class HookOffers {
 public:
  HookOffers(FileSystem& files, const Clock& clock) : files_(files), clock_(clock) {}

  struct Verdict {
    HookOffer offer;
    bool proven = false;
    std::string reason;  // the proof, or the reason for requeuing
  };

  /// Sets the lead's present session and its transcript; an empty path if unknown.
  void follow(const std::string& session, const std::string& transcript);
  /// Offset of the transcript's present end. The printed text appears after it.
  std::uint64_t place();
  /// The client's version from its transcript, or else from its hooks' environment; empty: unknown.
  std::string version();
  /// Stores the data that the lead's client gave to a hook of its session.
  void client_says(schema::ClientMode mode, std::string version, bool attended) {
    told_ = std::move(version);
    client_.mode = mode;
    client_.attended = attended;
  }
  /// All known data of the client.
  const handlers::ClientSight& client() {
    client_.version = version();
    return client_;
  }

  /// Adds printed messages, which wait for a proof.
  void add(HookOffer offer);

  /// Evaluates a later event of a session; `prompt` is the submitted text. Without a `sign` only the transcript is
  /// read.
  std::vector<Verdict> heard(std::optional<handlers::HookSign> sign, const std::string& session,
                             std::string_view prompt = {});
  /// Reads the transcript; call once a tick. `watched`: also read it while nothing waits for a proof.
  std::vector<Verdict> look(bool watched);
  /// True once after the transcript showed that a person interrupted the turn.
  bool take_interruption() { return transcript_ && transcript_->take_interruption(); }

  /// Offers that wait for a proof.
  [[nodiscard]] std::vector<const HookOffer*> offers() const;
  /// Removes offers without a leased message.
  void forget(const std::function<bool(long long id)>& is_lent);

 private:
  struct Unproven {
    HookOffer offer;
    std::string wanted;                     // the text, normalized for comparison
    bool prompted = false;                  // the text was submitted as a prompt
    bool given = false;                     // the transcript has the text
    bool answered = false;                  // and an answer of the model after it
    std::optional<SteadyTime> passed = {};  // end of a turn without it
  };
  void read();
  [[nodiscard]] handlers::Transcript said_of(const Unproven&) const;
  std::vector<Verdict> take(const std::function<std::optional<Verdict>(Unproven&)>& judge);

  FileSystem& files_;
  const Clock& clock_;
  std::string session_;
  std::string told_;  // from the hooks' environment; an outer client may have set it
  handlers::ClientSight client_;
  std::unique_ptr<Transcript> transcript_;
  bool readable_ = false;
  std::vector<Unproven> unproven_;
};

}  // namespace inbox_poller::poller
