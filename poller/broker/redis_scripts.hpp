// Lua scripts for every step that needs more than one Redis command. Redis runs each script atomically, and a script
// may be repeated after a lost reply. The comment before each definition lists its keys, arguments and result.
#pragma once

#include "poller/broker/redis_connection.hpp"

namespace inbox_poller::poller::scripts {

// Shared mail of one actor.
const RedisScript& send();
const RedisScript& offer();
const RedisScript& take();
const RedisScript& look();

// Shared mail for a daemon, many inboxes or entries at once (redis_mail_scripts.cpp).
const RedisScript& boxes();
const RedisScript& show();
const RedisScript& read_statuses();
const RedisScript& recall();

// Shared tasks.
const RedisScript& put_task();
const RedisScript& next_task();
const RedisScript& get_task();
const RedisScript& change_task();
const RedisScript& list_tasks();
const RedisScript& tasks_of();

// Frames, lease and answers between nodes.
const RedisScript& elect();
const RedisScript& renew();
const RedisScript& resign();
const RedisScript& append();
const RedisScript& answer();
const RedisScript& ack();

}  // namespace inbox_poller::poller::scripts
