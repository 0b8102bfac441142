// The boxes of a team that is spread over hosts, as everybody above sees them: those that stand here, without the ones
// whose owners live elsewhere; an inbox elsewhere can be posted to, and its fate is what the other host tells; and what
// came from other hosts for the lead stands in boxes of its own beside the lead's, "team-lead@h2". So nobody above knows
// of hosts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "poller/hosts/host_state.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

class ClusterMailbox final : public Mailbox {
 public:
  ClusterMailbox(HostState& state, Mailbox& local) : state_(state), local_(local) {}

  /// Boxes with mail from other hosts for the lead.
  std::vector<std::string> lead_boxes();
  /// All boxes of this host, whoever owns them; as of the last ready_boxes().
  [[nodiscard]] std::span<const News> here() const { return here_; }
  /// Something may have been heard of what was posted to inboxes elsewhere.
  void heard() { heard_ = true; }

  Result<std::span<const News>> ready_boxes() override;
  [[nodiscard]] bool rests() const override { return rests_; }
  void rely_on_hints(bool rely) override { local_.rely_on_hints(rely); }
  boost::asio::awaitable<Batch> receive(std::string box, Access, std::size_t most) override;
  boost::asio::awaitable<Settled> ack(std::string box, std::vector<Ack>) override;
  void rewind(const std::string& box) override;
  [[nodiscard]] Result<Decoded> decode(std::string_view bytes) const override { return local_.decode(bytes); }
  [[nodiscard]] std::function<bool(const schema::MessageKey&)> held(const std::string& box) const override;
  boost::asio::awaitable<Trimmed> trim(std::string box, RetentionPolicy choose) override {
    return local_.trim(std::move(box), std::move(choose));
  }
  [[nodiscard]] Contention contention() const override { return local_.contention(); }
  [[nodiscard]] std::string place_of(const std::string& box) const override { return local_.place_of(box); }
  using Mailbox::post;
  std::vector<WriteReceipt> post(const std::string& inbox, std::span<const schema::Message>) override;
  void track(const std::string& inbox, const schema::MessageKey&) override;
  [[nodiscard]] ReadStatus read_status(const std::string& inbox, const schema::MessageKey&) const override;
  void untrack(const std::string& inbox, const schema::MessageKey&) override;
  WriteReceipt recall(const std::string& inbox, std::span<const schema::MessageKey>) override;

 private:
  /// What was shown of a box of letters for the lead.
  struct Shown {
    std::vector<HostMailRow> rows;
    long long behind = 0;       // the look goes on behind this row
    std::set<long long> left;   // settled as `leave`
  };
  /// The host whose letters stand in this box; none: it is no such box.
  [[nodiscard]] std::optional<std::string> letters_of(const std::string& box) const;
  [[nodiscard]] bool is_elsewhere(const std::string& inbox) const;
  [[nodiscard]] HostMailRow row_of(const std::string& inbox, const schema::Message&) const;

  HostState& state_;
  Mailbox& local_;
  std::vector<News> here_, news_;
  std::map<std::string, Shown> shown_;
  std::set<std::string> posted_;  // inboxes elsewhere that somebody asks about
  bool heard_ = true;
  bool rests_ = false;
};

}  // namespace inbox_poller::poller
