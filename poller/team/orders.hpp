// Settings that the lead side sends to the workers of one team: modes and permission rules. Each goes once to each
// worker, including workers that join later. The roster shows if a mode was applied. Invariant: the transaction that
// sends a setting also records its recipients, so a crash sends nothing twice.
#pragma once

#include <string>
#include <vector>

#include "handlers/orders.hpp"
#include "poller/context/team_state.hpp"

namespace inbox_poller::poller {

class Orders {
 public:
  explicit Orders(TeamState& context) : context_(context) {}

  Status restore();

  /// Sends the mode to these members (all of them or none). Errors: member.unknown, mode.above_ceiling.
  Result<std::vector<OrderRow>> set_mode(const std::vector<std::string>& members, config::PermissionMode,
                                         const std::string& by);

  struct Allowed {
    SessionRule rule;
    std::vector<std::string> told;  // members that the rule was sent to
    bool is_new = true;             // false: the session already had the rule, nothing was done
    std::string not_told;           // the reason, as why_not_told()
  };
  enum class Audience { us, workers };
  /// Adds a rule to the session and sends it to every worker. It is not sent if `Audience` limits it to the daemon
  /// (another lead talks to the workers) or why_not_told() gives a reason. Errors: "rule.…".
  Result<Allowed> allow(const std::string& rule, const std::string& directory, const std::string& by, Audience);
  /// Removes a session rule on our side, whoever added it. Workers that applied the rule keep it until their sessions
  /// end. Error: rule.unknown.
  Result<SessionRule> revoke(const std::string& rule, const std::string& by);

  /// Sends pending settings to new members and records the applied ones. Call once a tick. Without a whole
  /// roster no setting is reported as not applied.
  void run_due(bool is_roster_whole);

  [[nodiscard]] const std::vector<OrderRow>& rows() const { return rows_; }
  /// Returns the reason why no worker may receive this rule: "the deny rule …", which shares calls with it. A worker
  /// that applied the rule would never ask us about those calls again (adr 28). Empty when it may be sent.
  [[nodiscard]] std::string why_not_told(const std::string& rule) const;
  /// Present workers that this rule was sent to.
  [[nodiscard]] std::vector<std::string> told(long long rule_id) const;
  /// Modes that were sent to present workers and that the roster does not show.
  [[nodiscard]] std::vector<OrderRow> not_applied() const;

 private:
  /// An order that is not yet recorded, and its message.
  struct Draft {
    OrderRow row;
    handlers::Post post;
  };
  struct Change {
    OrderRow row;
    handlers::OrderState state;
  };

  [[nodiscard]] bool was_given(const schema::Member&, handlers::OrderKind kind, std::string_view origin) const;
  [[nodiscard]] bool is_about(const OrderRow&, const schema::Member&) const;
  [[nodiscard]] Result<Draft> mode_draft(const std::string& member, config::PermissionMode, const std::string& origin,
                                           const std::string& by) const;
  [[nodiscard]] Result<Draft> rule_draft(const std::string& member, const SessionRule&) const;
  [[nodiscard]] OrderRow row_for(const std::string& member) const;
  [[nodiscard]] std::vector<Draft> lacking() const;
  [[nodiscard]] std::vector<Change> seen(EpochMs now) const;

  Status send(const std::vector<Draft>&, long long batch, Tx&);
  Status change(const std::vector<Change>&, Tx&);
  /// Commits with context_.commit() and reloads rows_ from the ledger.
  Status commit(const Work& work);

  TeamState& context_;
  std::vector<OrderRow> rows_;
};

}  // namespace inbox_poller::poller
