#include "poller/team/ask_view.hpp"

#include <boost/json/array.hpp>
#include <string>

#include "handlers/subject.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {

boost::json::object request_view(std::string_view team, const handlers::Ask& request) {
  const auto clean = [](std::string_view bytes) { return schema::make_parsable(bytes); };
  const bool is_call = request.kind == handlers::AskKind::permission;
  return {{"team", team},
          {"kind", handlers::to_string(request.kind)},
          {"request_id", request.request_id},
          {"member", clean(request.asker)},
          {"subject", clean(handlers::subject_of(request))},
          {"tool", is_call ? clean(request.subject) : std::string()},
          {"file", request.kind == handlers::AskKind::plan ? clean(request.subject) : std::string()},
          {"body", clean(request.body)},
          {"description", clean(request.description)},
          {"suggestions", clean(request.suggestions)},
          {"state", handlers::to_string(request.state)},
          {"asked_ms", request.asked_ms},
          {"deadline_ms", request.deadline_ms},
          {"decided_ms", request.decided_ms},
          {"decided_by", clean(request.decided_by)},
          {"rule", clean(request.rule)},
          {"reason", clean(request.reason)},
          {"message_key", request.message.value}};
}

boost::json::object open_view(std::string_view team, const handlers::Ask& ask, std::string_view folder,
                              const std::vector<config::PartVerdict>& parts) {
  auto view = request_view(team, ask);
  view["folder"] = schema::make_parsable(folder);
  boost::json::array list;
  for (const auto& part : parts)
    list.push_back(boost::json::object{{"part", schema::make_parsable(part.part)},
                                       {"rule", schema::make_parsable(part.rule)},
                                       {"missing", schema::make_parsable(part.missing)}});
  view["parts"] = std::move(list);
  return view;
}

}  // namespace inbox_poller::poller
