// What the workers of one team are told of the lead side's own accord: modes and permission rules, each once to each
// worker, also to those who join later. Whether a mode was taken over is read from the roster. Invariant: what was sent
// to whom is in the ledger, in the transaction that sends it, so that nothing is sent twice, whenever we are killed.
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
    std::vector<std::string> told;  // members it was sent to
    bool is_new = true;             // false: the session had it already, nothing was done
    std::string not_told;           // as why_not_told()
  };
  enum class Audience { us, workers };
  /// Makes the rule hold for the session and, unless it is for us alone (another lead speaks to the workers) or
  /// why_not_told() speaks against it, sends it to every worker. Errors: "rule.…".
  Result<Allowed> allow(const std::string& rule, const std::string& directory, const std::string& by, Audience);
  /// Takes a session rule back on our side, whoever gave it; workers that took it over keep it until their sessions
  /// end. Error: rule.unknown.
  Result<SessionRule> revoke(const std::string& rule, const std::string& by);

  /// Sends to joiners what they lack and looks who adopted what. Call once a tick, with a fresh roster.
  void run_due();

  [[nodiscard]] const std::vector<OrderRow>& rows() const { return rows_; }
  /// Why no worker may hear of this rule of the team: "the deny rule …", which shares calls with it, and of which a
  /// worker that took the rule over would never ask us again (adr 28). Empty: it may be told.
  [[nodiscard]] std::string why_not_told(const std::string& rule) const;
  /// The workers of now that were sent this rule.
  [[nodiscard]] std::vector<std::string> told(long long rule_id) const;
  /// Modes that were sent to workers of now and that the roster does not show.
  [[nodiscard]] std::vector<OrderRow> not_adopted() const;

 private:
  struct Letter {
    OrderRow row;
    handlers::Post post;
  };
  struct Change {
    OrderRow row;
    std::string state;
  };

  [[nodiscard]] bool was_given(const schema::Member&, std::string_view kind, std::string_view origin) const;
  [[nodiscard]] bool is_about(const OrderRow&, const schema::Member&) const;
  [[nodiscard]] Result<Letter> mode_letter(const std::string& member, config::PermissionMode, const std::string& origin,
                                           const std::string& by) const;
  [[nodiscard]] Result<Letter> rule_letter(const std::string& member, const SessionRule&) const;
  [[nodiscard]] OrderRow row_for(const std::string& member) const;
  [[nodiscard]] std::vector<Letter> lacking() const;
  [[nodiscard]] std::vector<Change> seen() const;

  Status send(const std::vector<Letter>&, long long batch, Tx&);
  Status change(const std::vector<Change>&, Tx&);
  /// context_.commit(), and rows_ as the ledger has them after it.
  Status commit(const Work& work);

  TeamState& context_;
  std::vector<OrderRow> rows_;
};

}  // namespace inbox_poller::poller
