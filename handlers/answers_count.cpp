#include "handlers/answers_count.hpp"

namespace inbox_poller::handlers {

AnswerAuthority authority_of(WorkerProcess process, bool lead_signs) {
  switch (process) {
    case WorkerProcess::without_key: return {Answers::count, "its process carries no lead's key"};
    case WorkerProcess::with_key:
      return {Answers::verified,
              "its process carries its lead's key (--lead-verify-key), so an answer of anybody else "
              "makes its request fail"};
    case WorkerProcess::unseen: break;
  }
  if (!lead_signs) return {Answers::count, "nothing shows a lead that signs its answers"};
  return {Answers::presumed_verified,
          "its process is not to be seen here, and its lead is of the generation whose workers refuse answers of "
          "anybody else (leadProcess in the roster)"};
}

bool is_verified(RequestKind kind, RequestEvent event) {
  switch (event) {
    case RequestEvent::rule_asks:
    case RequestEvent::asker_leaves:
    case RequestEvent::answered_by_other: return false;
    case RequestEvent::rule_allows:
    case RequestEvent::person_approves: return true;
    case RequestEvent::rule_denies:
    case RequestEvent::person_denies:
    case RequestEvent::deadline_passes: return kind != RequestKind::stop;
  }
  return true;
}

std::string verifies(std::string_view worker, const AnswerAuthority& authority) {
  return std::string(worker) + " takes answers from its own lead only: " + authority.reason;
}

std::string answered_instead(std::string_view worker) {
  return "Answer it in the lead's own session; `inbox-poller hook install --target workers` lets the rules judge before "
         "such "
         "a worker asks; `inbox-poller shutdown " +
         std::string(worker) + " --force` ends it";
}

}  // namespace inbox_poller::handlers
