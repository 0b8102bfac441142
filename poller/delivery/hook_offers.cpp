#include "poller/delivery/hook_offers.hpp"

#include <algorithm>
#include <chrono>

#include "schema/client_version.hpp"

namespace inbox_poller::poller {

using handlers::HookSign;
using handlers::OfferingHook;
using handlers::Proof;

namespace {

/// Delay of the client's transcript after its output.
constexpr std::chrono::seconds writes_within{3};
/// Window in which hooks that are installed twice report an event twice.
constexpr std::chrono::seconds same_event_within{1};
constexpr int pieces_at_once = 4;  // of a transcript that grew by more than a chunk
/// Lines without this text are skipped.
constexpr std::string_view part_of_heading = "delivered by inbox-poller";

constexpr const char* in_transcript = "its session's transcript has it, and an answer behind it";

std::string_view name_of(HookSign sign) {
  switch (sign) {
    case HookSign::prompt: return "a prompt";
    case HookSign::tool: return "a tool";
    case HookSign::stop:
    case HookSign::held: return "the end of its turn";
    case HookSign::failure: return "the failure of its turn";
    case HookSign::idle: return "its empty prompt";
    case HookSign::end: return "its end";
  }
  std::abort();
}

bool is_same_event(const HookOffer& offer, HookSign sign, std::string_view prompt, SteadyTime now) {
  const bool is_its = (offer.hook == OfferingHook::prompt && sign == HookSign::prompt && offer.prompt == prompt) ||
                      (offer.hook == OfferingHook::stop && sign == HookSign::stop);
  return is_its && now - offer.at < same_event_within;
}

}  // namespace

void HookOffers::follow(const std::string& session, const std::string& transcript) {
  if (session_ == session && (transcript.empty() || (transcript_ && transcript_->path() == transcript))) return;
  session_ = session;
  readable_ = false;
  transcript_.reset();
  if (transcript.empty()) return;
  transcript_ = std::make_unique<Transcript>(files_, transcript);
  read();
  static_cast<void>(take_interruption());  // an old one
}

std::uint64_t HookOffers::place() { return transcript_ ? transcript_->end() : 0; }

std::string HookOffers::version() {
  if (transcript_) {
    read();
    if (!transcript_->version().empty()) return transcript_->version();
  }
  return told_;
}

void HookOffers::add(HookOffer offer) {
  if (transcript_ && offer.session == session_) {
    // A read may have preceded the report that the text was printed.
    if (!unproven_.empty()) read();
    if (unproven_.empty() || transcript_->is_at_end()) transcript_->skip_to(offer.place);
  }
  auto wanted = schema::comparable(offer.text);
  unproven_.push_back({std::move(offer), std::move(wanted)});
}

void HookOffers::read() {
  readable_ = false;
  if (!transcript_) return;
  // Skip what nothing waited for, so that an unneeded transcript is not read through.
  if (unproven_.empty()) transcript_->skip_to(transcript_->end());
  for (int i = 0; i < pieces_at_once; ++i) {
    readable_ = transcript_->read_on([this](std::uint64_t begin, std::string_view line) {
      if (unproven_.empty()) return;
      const bool may_give = line.find(part_of_heading) != std::string_view::npos;
      const bool answers = schema::is_answer(line);
      for (auto& open : unproven_) {
        if (begin < open.offer.place || open.offer.session != session_) continue;
        open.answered = open.answered || (open.given && answers);
        open.given = open.given || (may_give && schema::gives_to_model(line, open.wanted));
      }
    });
    if (!readable_ || transcript_->is_at_end()) return;
  }
}

handlers::Transcript HookOffers::said_of(const Unproven& open) const {
  if (open.given || open.prompted) return open.answered ? handlers::Transcript::has : handlers::Transcript::given;
  const bool tells_all = readable_ && transcript_->is_at_end() && open.offer.session == session_ &&
                         schema::can(transcript_->version(), schema::Ability::transcribes_hooks);
  return tells_all ? handlers::Transcript::lacks : handlers::Transcript::silent;
}

std::vector<HookOffers::Verdict> HookOffers::take(const std::function<std::optional<Verdict>(Unproven&)>& judge) {
  std::vector<Verdict> verdicts;
  for (auto open = unproven_.begin(); open != unproven_.end();) {
    auto verdict = judge(*open);
    if (!verdict) {
      ++open;
      continue;
    }
    verdict->offer = std::move(open->offer);
    verdicts.push_back(*std::move(verdict));
    open = unproven_.erase(open);
  }
  return verdicts;
}

std::vector<HookOffers::Verdict> HookOffers::heard(std::optional<HookSign> sign, const std::string& session,
                                                   std::string_view prompt) {
  if (unproven_.empty() && sign != HookSign::prompt) return {};
  read();
  const auto now = clock_.steady();
  const auto said = prompt.find(part_of_heading) == std::string_view::npos ? std::string() : schema::comparable(prompt);
  return take([&](Unproven& open) -> std::optional<Verdict> {
    // The text that woke the session is its prompt now. The answer of the turn before may still be unwritten, so only one
    // behind the text counts.
    if (!said.empty() && said.find(open.wanted) != std::string::npos) {
      open.prompted = true;
      return std::nullopt;
    }
    const bool is_its = open.offer.session == session;
    const auto transcript = said_of(open);
    if (transcript == handlers::Transcript::has) return Verdict{{}, true, in_transcript};
    if (is_its && (!sign || is_same_event(open.offer, *sign, prompt, now))) return std::nullopt;
    const auto proof = handlers::judge_proof(open.offer.hook, is_its ? *sign : HookSign::end, transcript);
    if (proof == Proof::open) return std::nullopt;
    if (proof == Proof::proven)
      return Verdict{{}, true, "the turn that had it went on to " + std::string(name_of(*sign))};
    const bool is_over = !is_its || *sign == HookSign::end;
    if (is_over) return Verdict{{}, false, "its session ended, and nothing showed that the model had it"};
    const bool waits = open.offer.hook == OfferingHook::wait;  // the text that wakes a session begins the turn after this
    if (transcript != handlers::Transcript::lacks || (!waits && now - open.offer.at >= writes_within))
      return Verdict{{}, false, "a turn passed, and nothing showed that the model had it"};
    if (!open.passed || waits) open.passed = now;  // its line may still be written
    return std::nullopt;
  });
}

std::vector<HookOffers::Verdict> HookOffers::look(bool watched) {
  if (unproven_.empty() && !watched) return {};
  read();
  const auto now = clock_.steady();
  return take([&](Unproven& open) -> std::optional<Verdict> {
    if (said_of(open) == handlers::Transcript::has) return Verdict{{}, true, in_transcript};
    if (!open.passed || open.given || open.prompted || now - *open.passed < writes_within) return std::nullopt;
    return Verdict{{}, false, "a turn passed, and its session's transcript lacks it"};
  });
}

std::vector<const HookOffer*> HookOffers::offers() const {
  std::vector<const HookOffer*> offers;
  for (const auto& open : unproven_) offers.push_back(&open.offer);
  return offers;
}

void HookOffers::forget(const std::function<bool(long long id)>& is_lent) {
  std::erase_if(unproven_, [&](const Unproven& open) {
    return std::ranges::none_of(open.offer.messages, [&](const auto& one) { return is_lent(one.id); });
  });
}

}  // namespace inbox_poller::poller
