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
  if (!schema::is_valid_name(name)) return Side::stranger;
  if (name == view.lead) return Side::lead;
  if (view.roster.find(name)) return Side::member;
  if (names(view.former_members)) return Side::former;
  if (names(view.config.delivery.senders)) return Side::listed;
  return Side::stranger;
}

namespace {

/// One line of the table, a cell for every side.
using Row = std::array<Direction, 5>;
static_assert(static_cast<std::size_t>(Side::stranger) + 1 == std::tuple_size_v<Row>);

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

// The table itself. Columns: member, former, lead, listed, stranger.
Row row(const schema::PlainText&) { return {chat, chat, own_name, chat, stranger}; }
Row row(const schema::UnknownPayload&) { return {unknown, left_unknown, own_name, only_chat, stranger}; }
Row row(const schema::MalformedPayload&) { return {malformed, malformed, own_name, only_chat, stranger}; }

Row row(const AskPayload auto&) { return {ask, left, own_name, only_chat, stranger}; }

// A last report, written just before leaving, is still worth having. A lead may assign a task to itself.
Row row(const schema::IdleNotification&) { return {status, status, own_name, only_chat, stranger}; }
Row row(const schema::TaskAssignment&) { return {status, status, status, only_chat, stranger}; }
Row row(const schema::TaskCompleted&) { return {status, status, own_name, only_chat, stranger}; }

Row row(const schema::PermissionResponse&) { return never("permissions are answered by the lead, never to it"); }
Row row(const schema::SandboxPermissionResponse&) {
  return never("sandbox permissions are answered by the lead, never to it");
}
Row row(const schema::PlanApprovalResponse&) { return never("plans are approved by the lead, never to it"); }
Row row(const schema::ModeSetRequest&) { return never("modes are set by the lead, never for it"); }
Row row(const schema::ShutdownRequest&) { return never("a worker may not stop the lead"); }
Row row(const schema::ShutdownApproved&) { return never("no shutdown was requested, so none is approved"); }
Row row(const schema::ShutdownRejected&) { return never("no shutdown was requested, so none is rejected"); }
Row row(const schema::TeamPermissionUpdate&) {
  return never("the team's permission rules are changed by the lead, never by a worker");
}
Row row(const schema::TeammateTerminated&) {
  return never("only the lead's own program says that a teammate has ended");
}

}  // namespace

Direction direction_of(const schema::Payload& payload, Side side) {
  return std::visit([](const auto& type) { return row(type); }, payload).at(static_cast<std::size_t>(side));
}

}  // namespace inbox_poller::handlers
