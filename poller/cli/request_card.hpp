// Text of an approval request, as a person reads it before the decision.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/printable.hpp"
#include "schema/operations/verb_arguments.hpp"

namespace inbox_poller::poller::cli {

/// Returns kind and id, such as "permission perm-17", printable.
template <class Asked>
std::string request_name(const Asked& request) {
  return printable(request.kind) + ' ' + printable(request.request_id);
}
/// Returns a text that identifies the request: its team, its ids, and all that it is about.
std::string request_identity(const operations::OpenRequest& request);
/// Returns the team and everything that an approval would allow, as lines. `folder`: the worker's folder, if known.
std::string request_content(const operations::Request& request, const operations::Text& folder = {});
/// Returns the lines below the request's name: request_content(), the reason, the parts of a command, and the time
/// `when`. The worker's own words are marked as such and have a margin.
std::string request_text(const operations::OpenRequest& request, const std::string& when);
/// Groups the ids of these requests into lists that each fit into one control request.
std::vector<arguments::Strings> ids_of(const std::vector<const operations::OpenRequest*>& requests);
/// Returns the control requests that answer exactly these requests. `answer`: the decision, applied to each.
template <class Verdict>
std::vector<Verdict> answers_to(const std::vector<const operations::OpenRequest*>& requests, Verdict answer) {
  std::vector<Verdict> list;
  answer.shown = true;
  for (auto& ids : ids_of(requests)) {
    answer.ids = std::move(ids);
    list.push_back(answer);
  }
  return list;
}
/// Lists the open requests that a command's new rules have decided, a line each; empty when none was.
inline constexpr std::size_t most_listed = 20;  // requests in a text for people
std::string answered_by_rules(const std::vector<operations::RuledRequest>& requests);
/// False when the worker would refuse an answer from this machine, or the role leaves the answer to the team's lead.
bool can_be_answered(const operations::OpenRequest& request);

/// Returns an answer of the daemon for --json. In its array `list` each permission request gets two parsed values:
/// `input` from `body`, `suggested` from `suggestions`.
boost::json::object with_values(boost::json::object answer, std::string_view list);

}  // namespace inbox_poller::poller::cli
