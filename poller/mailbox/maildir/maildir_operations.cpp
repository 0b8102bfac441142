#include "poller/mailbox/maildir/maildir_operations.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <set>

#include "schema/ids.hpp"

namespace inbox_poller::poller {

namespace asio = boost::asio;
namespace json = boost::json;
using schema::Envelope;
using std::chrono::milliseconds;

namespace {

constexpr std::string_view offered_once = "offered\n";  // one line for each offer

// Pauses between scans. A watch may miss a change, and some systems have no watch; a message is then late by a pause.
constexpr milliseconds watched_pause{1000};
constexpr milliseconds unwatched_pause{15};

// Age up to which a listing is used again, because a box of thousands must not be listed for each message.
constexpr milliseconds fresh_for{100};

}  // namespace

MaildirOperations::MaildirOperations(const std::string& root, const std::string& actor, FileSystem& files, const Clock& clock,
                                     asio::any_io_executor executor, TaskSettings settings)
    : SharedBox(actor, tasks_),
      root_(files, clock, root),
      mail_(root_, actor),
      tasks_(root_, settings),
      executor_(executor),
      watch_(make_folder_watch(executor)) {}

Result<std::unique_ptr<MaildirOperations>> MaildirOperations::open(const std::string& root, const std::string& actor,
                                                                   FileSystem& files, const Clock& clock,
                                                                   asio::any_io_executor executor,
                                                                   TaskSettings settings) {
  TRY(require_actor_name(actor));
  std::unique_ptr<MaildirOperations> made(
      new MaildirOperations(root, actor, files, clock, std::move(executor), settings));
  if (const Result<Directory> there = made->root_.open(); !there) return there.error();
  return made;
}

Status MaildirOperations::make() {
  if (made_) return Done{};
  Status made = mail_.make();
  made_ = made.ok();
  return made;
}

// --- mail

Result<Sent> MaildirOperations::send(const MessageDraft& draft) {
  TRY(require_sendable(draft));
  if (Status made = make(); !made.ok()) return made.error();  // the receiver needs it for an answer
  const Result<Directory> box = root_.folder(draft.to);
  if (!box && !is_errno(box.error(), ENOENT)) return box.error();
  const MaildirRoot::Fresh fresh = root_.fresh();
  const Envelope message = message_of(actor(), draft, fresh.id, schema::seconds_token(fresh.ns));
  std::vector<std::string> others;
  if (!box) {
    if (auto actors = root_.actors()) others = *std::move(actors);
    if (Status fits = require_size_of(message.encode()); !fits.ok()) return fits.error();  // before the mailbox is made
    TRY(NewMail(root_, draft.to).make());
  }
  TRY(const auto to, root_.made_folder(draft.to + "/new"));
  TRY(root_.put(to, fresh.name(), message));
  return sent(message, !box, others);
}

/// Wakes the waiting calls, the latest one first, because its client may have given up the earlier ones silently.
void MaildirOperations::wake() {
  for (auto one = waiting_.rbegin(); one != waiting_.rend(); ++one) (*one)->cancel();
}

asio::awaitable<Result<std::optional<HandOut>>> MaildirOperations::recv(Filter filter, milliseconds within) {
  // Place in the list of waiting calls. The destructor frees the place, also after a cancellation.
  struct Waits {
    std::list<asio::steady_timer*>& list;
    FolderWatch& watch;
    const std::string folder;
    asio::steady_timer timer;
    std::list<asio::steady_timer*>::iterator place;
    Waits(std::list<asio::steady_timer*>& all, FolderWatch& hints, std::string below, asio::any_io_executor executor)
        : list(all), watch(hints), folder(std::move(below)), timer(std::move(executor)) {
      place = list.insert(list.end(), &timer);
    }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits() {
      const bool was_last = is_last();
      list.erase(place);
      if (list.empty()) watch.forget(folder);
      if (!list.empty() && was_last) list.back()->cancel();  // from now on the last call scans for all
    }
    [[nodiscard]] bool is_last() const { return list.back() == &timer; }
  };
  CO_TRY(make());
  Waits waits(waiting_, *watch_, mail_.new_folder(), executor_);
  const auto wake_all = [this] { wake(); };
  const SteadyTime until = std::chrono::steady_clock::now() + within;
  for (bool for_all = false;;) {
    // The watch begins before the scan, so that one of both finds a message that arrives meanwhile.
    const bool is_watched = within.count() > 0 && watch_->watch(waits.folder, wake_all).ok();
    auto offered = offer(filter);
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!offered || offered->has_value() || now >= until) co_return offered;
    if (for_all) wake();
    waits.timer.expires_at(waits.is_last() ? std::min(until, now + (is_watched ? watched_pause : unwatched_pause))
                                           : until);
    boost::system::error_code woken;
    co_await waits.timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    for_all = !woken && waits.is_last();
    if (!woken && !for_all) {  // its time is over: later calls scan before its last scan
      wake();
      co_await asio::post(executor_, asio::redirect_error(asio::use_awaitable, woken));
    }
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return std::optional<HandOut>();
  }
}

Result<std::optional<HandOut>> MaildirOperations::offer(const Filter& filter) {
  const SteadyTime now = root_.clock().steady();
  if (looked_ && now - *looked_ < fresh_for) {
    auto known = offer_known(filter);
    if (!known || known->has_value()) return known;
  }
  TRY(mail_.look());
  looked_ = now;
  return offer_known(filter);
}

Result<std::optional<HandOut>> MaildirOperations::offer_known(const Filter& filter) {
  std::set<std::string> offered;  // by id, because a message may be there twice
  for (const auto& [ticket, one] : offers_) offered.insert(one.mail.id);
  const std::set<Mail>& order = mail_.in_order();
  for (auto next = order.begin(); next != order.end();) {
    if ((filter.type && next->type != *filter.type) || (filter.reply_to && next->reply_to != *filter.reply_to) ||
        offered.contains(next->id)) {
      ++next;
      continue;
    }
    const Mail mail = *next;
    auto one = offer(mail);
    if (!one || one->has_value()) return one;
    next = order.upper_bound(mail);  // offer() may have removed `mail`
  }
  return std::optional<HandOut>();
}

/// Offers a message; empty if another process has locked or taken it, if it is unreadable, or if it is a repeat.
Result<std::optional<HandOut>> MaildirOperations::offer(const Mail& mail) {
  Result<NewMail::Open> open = mail_.open(mail, true);
  if (!open && (is_errno(open.error(), ENOENT) || is_errno(open.error(), EAGAIN))) return std::optional<HandOut>();
  if (!open) {  // no longer readable: it must not block the others
    mail_.pass_over(mail, open.error());
    return std::optional<HandOut>();
  }
  TRY(const auto known, mail_.was_taken(mail, open->envelope));
  if (known) {
    const Result<bool> taken = mail_.take(mail, *open);
    return taken ? Result<std::optional<HandOut>>(std::nullopt) : Result<std::optional<HandOut>>(taken.error());
  }
  TRY(const auto attempts, count_offer(mail));
  HandOut hand_out{open->envelope.object(), attempts, std::to_string(++next_ticket_)};
  if (attempts > 1) hand_out.message["attempts"] = attempts;
  offers_.emplace(hand_out.ticket, Offer{mail, *std::move(open)});
  return std::optional(std::move(hand_out));
}

std::string MaildirOperations::counter_of(const Mail& mail) const {
  return ".offer-" + schema::content_hash(actor() + '\n' + mail.id).substr(0, 32);
}

/// Counts an offer on the disk before the message is shown, so that a repeat is recognized in any case.
Result<std::uint32_t> MaildirOperations::count_offer(const Mail& mail) {
  TRY(const auto tmp, root_.made_folder("tmp"));
  TRY(const auto counter, root_.files().open_append(tmp, counter_of(mail)));
  Status counted = root_.files().append(counter, offered_once);
  if (counted.ok()) counted = root_.files().sync(counter);
  if (counted.ok() && counter.stat.size == 0) counted = root_.files().sync_dir(tmp);
  if (!counted.ok()) return counted.error();
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(counter.stat.size / offered_once.size(), 999)) + 1;
}

Status MaildirOperations::acknowledge(const std::string& ticket) {
  const auto offer = offers_.find(ticket);
  if (offer == offers_.end()) return Done{};
  const Mail mail = offer->second.mail;
  TRY(mail_.take(mail, offer->second.open));
  offers_.erase(offer);
  if (const Result<Directory> tmp = root_.folder("tmp"); tmp) (void)root_.files().unlink_at(*tmp, counter_of(mail));
  return Done{};
}

void MaildirOperations::requeue(const std::string& ticket) {
  if (offers_.erase(ticket) > 0) wake();
}

Result<json::object> MaildirOperations::inbox() {
  TRY(mail_.look());
  TRY(const auto counts, tasks_.counts());
  TRY(const auto mine, tasks_.held_by(actor(), most_listed));
  std::vector<ListedMessage> messages;
  for (const Mail& mail : mail_.in_order())
    if (messages.size() < most_listed) messages.push_back({mail.id, mail.from, mail.type, mail.ts});
  json::array unreadable;
  for (const auto& [name, reason] : mail_.unreadable())
    if (unreadable.size() < most_listed) unreadable.push_back({{"file", name}, {"reason", reason}});
  json::object answer = inbox_answer(actor(), mail_.in_order().size(), messages, counts, mine);
  if (!unreadable.empty()) answer["unreadable"] = std::move(unreadable);
  return answer;
}

}  // namespace inbox_poller::poller
