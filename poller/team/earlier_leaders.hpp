// What the ledger of a team on several nodes knows of leader nodes before this one. A team on one node has none.
// Functions for Receiver, in its transaction. Errors: "ledger.*".
#pragma once

#include <optional>
#include <string>

#include "handlers/dispatch.hpp"
#include "poller/context/team_state.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

/// Returns true for a message of the ledger. Also true for an entry of the lead's inbox that this node sent to another
/// leader: its read flag was lost, and the message still comes over the broker.
Result<bool> is_known(const TeamState& context, const std::string& inbox, const schema::MessageKey& key, Tx& tx);

/// Returns `found`, or else the request of this name by a worker of this node that an earlier leader answered. Of the
/// latter only the fields are set that a repetition is compared with.
Result<std::optional<handlers::Request>> first_of(const handlers::RequestRef& ref,
                                                  std::optional<handlers::Request> found, const std::string& sender,
                                                  const TeamState& context, const Mailbox& mailbox, Tx& tx);

/// Makes an earlier leader's answer to a repeated request wait for its inbox again, if its worker has consumed it.
Status file_again(const TeamState& context, const MessageRow& row, Tx& tx);

}  // namespace inbox_poller::poller
