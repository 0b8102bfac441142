// Status reports of workers: idle after a turn, a task taken, a task done. A report needs no answer and updates
// `status`. Reports reach the lead only if configured, or after a failed turn. Source: docs/reference/wire.md W23.
#pragma once

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

WorkerStatus status_of(const schema::IdleNotification&, const config::DeliverySettings&);
WorkerStatus status_of(const schema::TaskAssignment&, const config::DeliverySettings&);
WorkerStatus status_of(const schema::TaskCompleted&, const config::DeliverySettings&);

}  // namespace inbox_poller::handlers
