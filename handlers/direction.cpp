#include "handlers/direction.hpp"

#include <algorithm>

#include "schema/ids.hpp"

namespace inbox_poller::handlers {

Side side_of(std::string_view from, const TeamView& view) {
  const std::string_view name = schema::bare_name(from);
  const auto names = [name](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (!schema::is_valid_name(name)) return Side::stranger;
  if (name == view.lead) return Side::lead;
  if (view.roster.find(name)) return Side::member;
  if (names(view.former_members)) return Side::former;
  if (names(view.config.delivery.senders)) return Side::listed;
  return Side::stranger;
}

namespace {

/// One line of the table, a cell for every side.
struct Row {
  Direction member, former, lead, listed, stranger;

  [[nodiscard]] Direction at(Side side) const {
    switch (side) {
      case Side::member: return member;
      case Side::former: return former;
      case Side::lead: return lead;
      case Side::listed: return listed;
      case Side::stranger: return stranger;
    }
    return {};
  }
};

constexpr Direction refuse(std::string_view reason) { return {Passage::refuse, reason}; }

constexpr Direction ask{Passage::ask, {}};
constexpr Direction status{Passage::status, {}};
constexpr Direction chat{Passage::chat, {}};
constexpr Direction unknown{Passage::unknown, {}};

constexpr Direction own_name = refuse("the sender uses the lead's own name; the lead does not write to itself");
constexpr Direction only_chat = refuse("the sender is not a member of the team; only chat is accepted from it");
constexpr Direction stranger = refuse("the sender is neither a member of the team nor named in delivery.senders");
constexpr Direction left = refuse("the sender has left the team; nobody waits for an answer");
constexpr Direction left_unknown = refuse("the sender has left the team; a type nobody knows is not taken from it");
constexpr Direction malformed = refuse("the message has a known type, but its fields are not as they must be");

/// The same refusal for everybody who has a place in the team; the others have a nearer reason.
constexpr Row never(std::string_view reason) { return {refuse(reason), refuse(reason), own_name, only_chat, stranger}; }

/// The table itself. Columns: member, former, lead, listed, stranger.
struct Table {
  Row operator()(const schema::PlainText&) const { return {chat, chat, own_name, chat, stranger}; }
  Row operator()(const schema::UnknownPayload&) const { return {unknown, left_unknown, own_name, only_chat, stranger}; }
  Row operator()(const schema::MalformedPayload&) const {
    return {malformed, malformed, own_name, only_chat, stranger};
  }

  Row operator()(const schema::PermissionRequest&) const { return {ask, left, own_name, only_chat, stranger}; }
  Row operator()(const schema::SandboxPermissionRequest&) const { return {ask, left, own_name, only_chat, stranger}; }
  Row operator()(const schema::PlanApprovalRequest&) const { return {ask, left, own_name, only_chat, stranger}; }

  // A last report, written just before leaving, is still worth having. A lead may assign a task to itself.
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
  Row operator()(const schema::ShutdownRequest&) const { return never("a worker may not stop the lead"); }
  Row operator()(const schema::ShutdownApproved&) const {
    return never("no shutdown was requested, so none is approved");
  }
  Row operator()(const schema::ShutdownRejected&) const {
    return never("no shutdown was requested, so none is rejected");
  }
  Row operator()(const schema::TeamPermissionUpdate&) const {
    return never("the team's permission rules are changed by the lead, never by a worker");
  }
  Row operator()(const schema::TeammateTerminated&) const {
    return never("only the lead's own program says that a teammate has ended");
  }
};

}  // namespace

Direction direction_of(const schema::Payload& payload, Side side) { return std::visit(Table{}, payload).at(side); }

}  // namespace inbox_poller::handlers
