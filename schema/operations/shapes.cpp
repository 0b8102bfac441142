// The tables of all records.
#include <array>
#include <boost/describe/members.hpp>
#include <boost/mp11/list.hpp>
#include <type_traits>

#include "schema/operations/message.hpp"
#include "schema/operations/order.hpp"
#include "schema/operations/printed.hpp"
#include "schema/operations/shape.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::operations {

namespace describe = boost::describe;
namespace json = boost::json;

namespace {

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// Any other type is none of a field: schema/operations/record.hpp lists them.
template <class T>
constexpr Kind plain = std::enable_if_t<!std::is_same_v<T, T>, Kind>();
template <>
constexpr Kind plain<Text> = Kind::text;
template <>
constexpr Kind plain<Verbatim> = Kind::verbatim;
template <>
constexpr Kind plain<bool> = Kind::flag;
template <>
constexpr Kind plain<long long> = Kind::number;
template <>
constexpr Kind plain<json::object> = Kind::object;
template <>
constexpr Kind plain<json::array> = Kind::array;
template <>
constexpr Kind plain<json::value> = Kind::value;

template <class T>
struct ListOf;

template <class T>
constexpr Type type_of() {
  if constexpr (is_list<T>) {
    using One = typename T::value_type;
    static_assert(!std::is_same_v<One, bool>, "a list of flags has no addresses");
    return {.kind = Kind::list,
            .element = &ListOf<One>::type,
            .size = [](const void* list) { return static_cast<const T*>(list)->size(); },
            .at = [](void* list, std::size_t index) -> void* { return &(*static_cast<T*>(list))[index]; },
            .add = [](void* list) -> void* { return &static_cast<T*>(list)->emplace_back(); }};
  } else if constexpr (requires { T::words; }) {
    return {.kind = Kind::text, .words = T::words};
  } else if constexpr (describe::has_describe_members<T>::value) {
    return {.kind = Kind::record, .record = &shape_of<T>};
  } else {
    return {.kind = plain<T>};
  }
}

template <class T>
struct ListOf {
  static constexpr Type type = type_of<T>();
};

template <class Record, class Described>
constexpr Field field_of() {
  using T = std::decay_t<decltype(std::declval<Record&>().*Described::pointer)>;
  if constexpr (is_optional<T>) {
    return {Described::name, type_of<typename T::value_type>(), true,
            [](void* record) -> void* {
              auto& field = static_cast<Record*>(record)->*Described::pointer;
              return field ? &*field : nullptr;
            },
            [](void* record) -> void* { return &(static_cast<Record*>(record)->*Described::pointer).emplace(); }};
  } else {
    constexpr auto find = [](void* record) -> void* { return &(static_cast<Record*>(record)->*Described::pointer); };
    return {Described::name, type_of<T>(), false, find, find};
  }
}

template <class Record, class... Described>
consteval auto fields_of(boost::mp11::mp_list<Described...>) {
  return std::array{field_of<Record, Described>()...};
}

template <class Record>
const Shape& table(std::string_view name) {
  using Members = describe::describe_members<Record, describe::mod_public | describe::mod_inherited>;
  static constexpr auto fields = fields_of<Record>(boost::mp11::mp_rename<Members, boost::mp11::mp_list>());
  static const Shape shape{name, fields};
  return shape;
}

}  // namespace

#define INBOX_POLLER_RECORDS(X) \
  X(Ask) X(AskPart) X(OpenAsk) X(ReusedId) X(Pending) X(Meant) X(RuledAsk) X(Outcome) X(Outcomes) X(OneOutcome) \
  X(Decisions) X(Host) X(HostMail) X(Hosts) X(SessionFile) X(Lead) X(LeadOfTeam) X(Attached) X(HookAnswer) \
  X(WorkerCall) X(Letter) X(Message) X(SaidMessage) X(History) X(KeptFile) X(Quarantine) X(LeadMessage) X(Received) \
  X(Acknowledged) X(Sent) X(Broadcast) X(ModeSent) X(ModesSent) X(Assigned) X(Resumed) X(Reloaded) X(Working) \
  X(Waited) X(Changed) X(Rule) X(GivenRule) X(ToldRule) X(Rules) X(TriedPart) X(Trial) X(Suggestion) X(Suggestions) \
  X(Allowed) X(Revoked) X(Judgement) X(Shutdown) X(Shutdowns) X(RefusedMember) X(ShutdownsBegun) X(Inbox) X(Roster) \
  X(Member) X(AskCounts) X(ChatCounts) X(Way) X(Delivery) X(Locks) X(DecisionCount) X(SpreadStep) X(Spread) \
  X(Counted) X(Polls) X(NotAdopted) X(Phantom) X(Unserved) X(TaskCounts) X(Seen) X(Team) X(Configuration) X(Status) \
  X(Order) X(Effect) X(Happened) X(TracedAsk) X(TracedShutdown) X(Trace) X(ShortStatus) X(Metrics) X(Finding) \
  X(DoctorSection) X(Doctor) X(QuickDoctor) X(Setting) X(CheckedMember) X(CheckedTeam) X(CheckedConfig) \
  X(InboxLock) X(ListedInbox) X(InboxList) X(AboutInbox) X(InboxEntry) X(InboxEntries) X(InboxSent) X(InboxChanged) \
  X(BoxMessage) X(BoxTask) X(BoxTaskCounts) X(UnreadableFile) X(BoxInbox) X(BoxTasks) X(BoxCopied) X(HostsAcl) \
  X(SettingsChanged) X(Refusal)

#define X(Record)  \
  template <>      \
  const Shape& shape_of<Record>();
INBOX_POLLER_RECORDS(X)
#undef X

#define X(Record)                     \
  template <>                         \
  const Shape& shape_of<Record>() {   \
    return table<Record>(#Record);    \
  }
INBOX_POLLER_RECORDS(X)
#undef X
#undef INBOX_POLLER_RECORDS

}  // namespace inbox_poller::operations
