#include "handlers/direction.hpp"

#include <algorithm>
#include <array>

#include "handlers/kinds.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::handlers {

Side side_of(std::string_view from, const TeamView& view) {
  const std::string_view name = schema::bare_name(from);
  const auto names = [name](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (name == view.lead) return Side::lead;
  if (view.roster.find(name)) return Side::member;
  if (names(view.former_members)) return Side::former;
  if (schema::is_valid_name(name) && names(view.config.delivery.allowed_senders)) return Side::listed;
  return Side::stranger;
}

/// A namespace, because variables elsewhere have the same names as the cells.
namespace table {
namespace {

/// One row of the table, with a cell for every side.
using Row = std::array<Direction, 5>;
static_assert(static_cast<std::size_t>(Side::stranger) + 1 == std::tuple_size_v<Row>);

constexpr Direction refuse(std::string_view reason) { return {Passage::refuse, reason}; }

constexpr Direction request{Passage::request, {}};
constexpr Direction answer{Passage::answer, {}};
constexpr Direction status{Passage::status, {}};
constexpr Direction chat{Passage::chat, {}};
constexpr Direction unknown{Passage::unknown, {}};
constexpr Direction verdict{Passage::verdict, {}};
constexpr Direction order{Passage::order, {}};
constexpr Direction talk{Passage::private_talk, {}};

constexpr Direction own_name = refuse("the sender uses the lead's own name; the lead does not write to itself");
constexpr Direction only_chat = refuse("the sender is not a member of the team; only chat is accepted from it");
constexpr Direction stranger = refuse("the sender is neither a member of the team nor named in delivery.allowed_senders");
constexpr Direction left = refuse("the sender has left the team and does not wait for an answer");
constexpr Direction left_unknown = refuse("the sender has left the team; an unknown type is not taken from it");
constexpr Direction malformed = refuse("the message has a known type, but its fields are not as they must be");

/// Returns the same refusal for members past and present; the other sides have a closer reason.
constexpr Row never(std::string_view reason) { return {refuse(reason), refuse(reason), own_name, only_chat, stranger}; }

// The table, in a part for each place. Columns: member, former, lead, listed, stranger.

struct LeadInbox {
  Row operator()(const schema::PlainText&) const { return {chat, chat, own_name, chat, stranger}; }
  Row operator()(const schema::UnknownPayload&) const { return {unknown, left_unknown, own_name, only_chat, stranger}; }
  Row operator()(const schema::MalformedPayload&) const {
    return {malformed, malformed, own_name, only_chat, stranger};
  }

  Row operator()(const RequestPayload auto&) const { return {request, left, own_name, only_chat, stranger}; }

  // A worker that agreed to end has often left the roster before its answer is read.
  Row operator()(const ShutdownAnswerPayload auto&) const { return {answer, answer, own_name, only_chat, stranger}; }

  // A last report, written just before leaving, still counts. A lead may assign a task to itself.
  Row operator()(const schema::IdleNotification&) const { return {status, status, own_name, only_chat, stranger}; }
  Row operator()(const schema::TaskAssignment&) const { return {status, status, status, only_chat, stranger}; }
  Row operator()(const schema::TaskCompleted&) const { return {status, status, own_name, only_chat, stranger}; }

  Row operator()(const schema::PermissionResponse&) const {
    return never("permissions are answered by the lead, never to it");
  }
  Row operator()(const schema::SandboxPermissionResponse&) const {
    return never("sandbox permissions are answered by the lead, never to it");
  }
  Row operator()(const schema::PlanApprovalResponse&) const {
    return never("plans are approved by the lead, never to it");
  }
  Row operator()(const schema::ModeSetRequest&) const { return never("modes are set by the lead, never for it"); }
  Row operator()(const schema::TeamPermissionUpdate&) const {
    return never("the team's permission rules are changed by the lead, never by a worker");
  }
  Row operator()(const schema::TeammateTerminated&) const {
    return never("only the lead's own program says that a teammate has ended");
  }
};

/// An inbox under a misspelled name of the lead. Chat there counts, but no lead's program would read a control message
/// there, so none is obeyed.
struct AliasInbox {
  Row operator()(const ContentPayload auto& content) const { return LeadInbox{}(content); }
  Row operator()(const StatusPayload auto& report) const { return LeadInbox{}(report); }
  Row operator()(const RequestPayload auto&) const {
    return never("a request is only taken from the lead's own inbox");
  }
  Row operator()(const ShutdownAnswerPayload auto&) const {
    return never("a shutdown answer is only taken from the lead's own inbox");
  }
  Row operator()(const NeverObeyedPayload auto&) const {
    return never("a control message is only taken from the lead's own inbox, and this one not even there");
  }
};

/// Returns the row of a message to a worker that only the lead may send.
constexpr Row from_lead(Direction passage, std::string_view forged) {
  return {refuse(forged), refuse(forged), passage, refuse(forged), refuse(forged)};
}
constexpr Row everybody(Direction direction) { return {direction, direction, direction, direction, direction}; }

struct WorkerInbox {
  Row operator()(const schema::PlainText&) const { return everybody(talk); }
  Row operator()(const schema::UnknownPayload&) const { return everybody(talk); }
  // In the lead's name, the text may be an answer that the worker does not understand. The worker then waits without
  // end.
  Row operator()(const schema::MalformedPayload&) const { return {talk, talk, verdict, talk, talk}; }

  Row operator()(const schema::IdleNotification&) const { return everybody(talk); }
  Row operator()(const schema::TaskAssignment&) const { return {talk, talk, order, talk, talk}; }
  Row operator()(const schema::TaskCompleted&) const { return everybody(talk); }

  Row operator()(const schema::PermissionResponse&) const {
    return from_lead(verdict, "only the lead answers permissions; another program wrote this");
  }
  Row operator()(const schema::SandboxPermissionResponse&) const {
    return from_lead(verdict, "only the lead answers sandbox permissions; another program wrote this");
  }
  Row operator()(const schema::PlanApprovalResponse&) const {
    return from_lead(verdict, "only the lead approves plans; another program wrote this");
  }
  Row operator()(const schema::ModeSetRequest&) const {
    return from_lead(order, "only the lead sets modes; another program wrote this");
  }
  Row operator()(const schema::ShutdownRequest&) const {
    return from_lead(order, "only the lead stops a worker; another program wrote this");
  }
  Row operator()(const schema::TeamPermissionUpdate&) const {
    return from_lead(order, "only the lead changes permission rules; another program wrote this");
  }
  Row operator()(const schema::TeammateTerminated&) const {
    return from_lead(talk, "only the lead says that a teammate has ended; another program wrote this");
  }

  Row operator()(const RequestPayload auto&) const {
    return everybody(refuse("misdirected: requests belong into the lead's inbox; no worker answers them"));
  }
  Row operator()(const ShutdownAnswerPayload auto&) const {
    return everybody(refuse("misdirected: shutdown answers belong into the lead's inbox"));
  }
};

Row row_of(const schema::Payload& payload, Place place) {
  switch (place) {
    case Place::lead: return std::visit(LeadInbox{}, payload);
    case Place::alias: return std::visit(AliasInbox{}, payload);
    case Place::worker: return std::visit(WorkerInbox{}, payload);
  }
  return everybody(stranger);
}

}  // namespace
}  // namespace table

Direction direction_of(const schema::Payload& payload, Side side, Place place) {
  return table::row_of(payload, place).at(static_cast<std::size_t>(side));
}

}  // namespace inbox_poller::handlers
