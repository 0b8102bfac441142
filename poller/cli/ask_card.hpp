// An ask as a person reads it before answering.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/printable.hpp"
#include "schema/operations/requests.hpp"

namespace inbox_poller::poller::cli {

/// "permission perm-17".
template <class Asked>
std::string ask_name(const Asked& ask) {
  return printable(ask.kind) + ' ' + printable(ask.request_id);
}
/// What makes it this ask and no other.
std::string ask_identity(const operations::OpenAsk& ask);
/// What is asked: the team and everything that is approved by approving it, as lines. `folder`: as of an open ask.
std::string ask_content(const operations::Ask& ask, const operations::Text& folder = {});
/// What stands behind its name: the team, everything that is approved by approving it, as lines, and when it was asked.
/// The asker's own words are marked as such and stand behind a margin.
std::string ask_text(const operations::OpenAsk& ask, const std::string& when);
/// What names exactly these asks as they were shown: as many ids together as one request may hold.
std::vector<requests::Strings> ids_of(const std::vector<const operations::OpenAsk*>& asks);
/// The requests that answer exactly these asks as they were shown. `answer`: what is said to each.
template <class Verdict>
std::vector<Verdict> answers_to(const std::vector<const operations::OpenAsk*>& asks, Verdict answer) {
  std::vector<Verdict> list;
  answer.shown = true;
  for (auto& ids : ids_of(asks)) {
    answer.ids = std::move(ids);
    list.push_back(answer);
  }
  return list;
}
/// The open asks that a command's new rules have answered, a line each; empty when there are none.
std::string answered_by_rules(const std::vector<operations::RuledAsk>& asks);
/// False when its asker would refuse an answer from here, as the daemon says.
bool can_be_answered(const operations::OpenAsk& ask);

/// An answer as --json prints it: in this list of asks each call has the values of its texts, `input` of `body` and
/// `suggested` of `suggestions`.
boost::json::object with_values(boost::json::object answer, std::string_view list);

}  // namespace inbox_poller::poller::cli
