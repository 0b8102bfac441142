// The operations of one actor over a folder that agents share (maildir_root.hpp). They need files only, not a daemon.
// Offers are recorded in the file system, so that several processes of one actor share its mail. The offering process
// holds the message's file (flock, which ends with the process), and tmp/ counts the offers of each message.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/folder_watch.hpp"
#include "poller/mailbox/maildir/new_mail.hpp"
#include "poller/mailbox/maildir/task_queue.hpp"
#include "poller/mailbox/actor_mail.hpp"

namespace inbox_poller::poller {

/// Mail and tasks of one actor. One thread; recv() waits on the executor.
class MaildirOperations final : public SharedBox {
 public:
  /// Opens the root for an actor and writes nothing: make(), send() and recv() make the actor's mailbox.
  /// Errors: "name.invalid", "root.missing", "dir.untrusted". `files` and `clock` must outlive the result.
  static Result<std::unique_ptr<MaildirOperations>> open(const std::string& root, const std::string& actor,
                                                         FileSystem& files, const Clock& clock,
                                                         boost::asio::any_io_executor executor,
                                                         TaskSettings settings = {});

  /// Sends a message. Errors: "payload.too_large" over `MaildirRoot::most_bytes`, and those of the interface.
  Result<Sent> send(const MessageDraft&) override;
  boost::asio::awaitable<Result<std::optional<HandOut>>> recv(Filter, std::chrono::milliseconds within) override;
  Status acknowledge(const std::string& ticket) override;
  void requeue(const std::string& ticket) override;

  Result<boost::json::object> inbox() override;

  Status make() override;

 private:
  MaildirOperations(const std::string& root, const std::string& actor, FileSystem& files, const Clock& clock,
                    boost::asio::any_io_executor executor, TaskSettings settings);

  struct Offer {
    Mail mail;
    NewMail::Open open;
  };
  Result<std::optional<HandOut>> offer(const Filter&);
  Result<std::optional<HandOut>> offer_known(const Filter&);
  Result<std::optional<HandOut>> offer(const Mail&);
  Result<std::uint32_t> count_offer(const Mail&);
  [[nodiscard]] std::string counter_of(const Mail&) const;
  void wake();

  const MaildirRoot root_;
  NewMail mail_;
  TaskQueue tasks_;
  std::map<std::string, Offer> offers_;  // by ticket
  unsigned long next_ticket_ = 0;
  bool made_ = false;
  std::optional<SteadyTime> looked_;
  boost::asio::any_io_executor executor_;
  std::list<boost::asio::steady_timer*> waiting_;
  std::unique_ptr<FolderWatch> watch_;
};

}  // namespace inbox_poller::poller
