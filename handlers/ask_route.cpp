#include "handlers/ask_route.hpp"

#include "handlers/ask_kind.hpp"

namespace inbox_poller::handlers {

bool asks_lead(const Ask& request, const TeamView& view) {
  return request.asker != view.lead && traits_of(request.kind).route(view.config) != config::Answerer::person;
}

bool asks_person(const Ask& request, const TeamView& view) {
  return request.asker == view.lead || traits_of(request.kind).route(view.config) != config::Answerer::lead;
}

bool is_to_be_told(const Ask& ask, const Told& told, bool of_decision) {
  return of_decision ? told.asked && !told.decided : is_open(ask.state) && !told.asked;
}

}  // namespace inbox_poller::handlers
