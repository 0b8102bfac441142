// What workers tell about themselves: idle after a turn, a task taken, a task done. Nobody waits for an answer; it
// changes what `status` shows, and reaches the lead only if configured, or when a turn went wrong. Source:
// docs/reference/wire.md W23.
#pragma once

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

WorkerStatus status_of(const schema::IdleNotification&, const config::DeliverySettings&);
WorkerStatus status_of(const schema::TaskAssignment&, const config::DeliverySettings&);
WorkerStatus status_of(const schema::TaskCompleted&, const config::DeliverySettings&);

}  // namespace inbox_poller::handlers
