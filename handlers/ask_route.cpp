#include "handlers/ask_route.hpp"

namespace inbox_poller::handlers {

config::Answerer route_of(RequestKind kind, const config::TeamConfig& config) {
  switch (kind) {
    case RequestKind::permission: return config.permissions.ask;
    case RequestKind::sandbox: return config.sandbox.ask;
    case RequestKind::plan: return config.plans.ask;
    case RequestKind::stop: return config.shutdown.ask;
  }
  return config::Answerer::person;
}

bool asks_lead(const Request& request, const TeamView& view) {
  return request.asker != view.lead && route_of(request.kind, view.config) != config::Answerer::person;
}

bool asks_person(const Request& request, const TeamView& view) {
  return request.asker == view.lead || route_of(request.kind, view.config) != config::Answerer::lead;
}

}  // namespace inbox_poller::handlers
