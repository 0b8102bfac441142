// The tables of all records.
#include "schema/operations/make_shape.hpp"
#include "schema/operations/message.hpp"
#include "schema/operations/order.hpp"
#include "schema/operations/printed.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::operations {

#define INBOX_POLLER_RECORDS(X)                                                                                        \
  X(Request)                                                                                                               \
  X(RequestPart) X(OpenRequest) X(ReusedId) X(Pending) X(Meant) X(RuledRequest) X(Outcome) X(Outcomes) X(Decisions) X(Node)        \
      X(NodeMail) X(Cluster) X(SessionFile) X(Lead) X(LeadOfTeam) X(Attached) X(HookAnswer) X(WorkerCall) X(WorkerTurn) X(NodeMessage)    \
          X(Message) X(SaidMessage) X(History) X(KeptFile) X(Quarantine) X(LeadMessage) X(Received) X(Acknowledged)    \
              X(Sent) X(Broadcast) X(ModeSent) X(ModesSent) X(Assigned) X(Resumed) X(Reloaded) X(Working) X(Waited)    \
                  X(Changed) X(Rule) X(GivenRule) X(ToldRule) X(Rules) X(TriedPart) X(Trial) X(Suggestion)             \
                      X(Suggestions) X(Allowed) X(Revoked) X(Judgment) X(Shutdown) X(Shutdowns) X(RefusedMember)       \
                          X(ShutdownsBegun) X(Inbox) X(Roster) X(Member) X(RequestCounts) X(ChatCounts) X(DeliveryMethod) X(Delivery) \
                              X(Locks) X(DecisionCount) X(SpreadStep) X(Spread) X(Counted) X(Polls) X(NotApplied)      \
                                  X(OrphanedInbox) X(Unreachable) X(TaskCounts) X(Seen) X(Team) X(Configuration)       \
                                      X(Status) X(Order) X(Effect) X(Happened) X(TracedRequest) X(TracedShutdown) X(Trace) \
                                          X(ShortStatus) X(Metrics) X(Finding) X(DoctorSection) X(Doctor)              \
                                              X(QuickDoctor) X(Setting) X(CheckedMember) X(CheckedTeam)                \
                                                  X(CheckedConfig) X(InboxLock) X(ListedInbox) X(InboxList)            \
                                                      X(AboutInbox) X(InboxEntry) X(InboxEntries) X(InboxSent)         \
                                                          X(InboxChanged) X(BoxMessage) X(BoxTask) X(BoxTaskCounts)    \
                                                              X(UnreadableFile) X(BoxInbox) X(BoxTasks) X(BoxCopied)   \
                                                                  X(NodesAcl) X(SettingsChanged) X(Refusal)

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
