#include "handlers/request_route.hpp"

#include "handlers/request_kind.hpp"

namespace inbox_poller::handlers {

bool asks_lead(const Request& request, const TeamView& view) {
  return request.asker != view.lead && traits_of(request.kind).route(view.config) != config::Answerer::person;
}

bool asks_person(const Request& request, const TeamView& view) {
  return request.asker == view.lead || traits_of(request.kind).route(view.config) != config::Answerer::lead;
}

bool is_to_be_told(const Request& request, const Told& told, bool of_decision) {
  return of_decision ? told.asked && !told.decided : is_open(request.state) && !told.asked;
}

}  // namespace inbox_poller::handlers
