// All that Redis does for us in more than one step: each script is carried out as a whole, and may be called again after
// a lost answer. The comment beside each in the source says what it takes and gives.
#pragma once

#include "poller/broker/redis_connection.hpp"

namespace inbox_poller::poller::scripts {

// Mail that agents share.
const RedisScript& send();
const RedisScript& offer();
const RedisScript& take();
const RedisScript& look();

// The same for a daemon, many at once (redis_mail_scripts.cpp).
const RedisScript& boxes();
const RedisScript& show();
const RedisScript& fates();
const RedisScript& recall();

// Their tasks.
const RedisScript& put_task();
const RedisScript& next_task();
const RedisScript& get_task();
const RedisScript& change_task();
const RedisScript& list_tasks();
const RedisScript& tasks_of();

// Between hosts.
const RedisScript& elect();
const RedisScript& renew();
const RedisScript& resign();
const RedisScript& append();
const RedisScript& answer();
const RedisScript& ack();

}  // namespace inbox_poller::poller::scripts
