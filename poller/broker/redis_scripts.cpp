#include "poller/broker/redis_scripts.hpp"

namespace inbox_poller::poller::scripts {

namespace {

// trim: removes entries that the only group has acknowledged and that are older than `older_ms`. Pending and unread
// entries stay. Entry ids begin with milliseconds of the server's clock.
constexpr const char* trimming = R"lua(
local function trim(stream, older_ms)
  local info = redis.pcall('XINFO', 'GROUPS', stream)
  if info.err or #info ~= 1 then return end
  local at = {}
  for i = 1, #info[1], 2 do at[info[1][i]] = info[1][i + 1] end
  local function ms(id) return tonumber(string.match(id, '^(%d+)-')) or 0 end
  local time = redis.call('TIME')
  local bound = math.min(time[1] * 1000 - older_ms, ms(at['last-delivered-id']))
  local pending = redis.call('XPENDING', stream, 'g')
  if pending[1] > 0 then bound = math.min(bound, ms(pending[2])) end
  if bound > 0 then redis.call('XTRIM', stream, 'MINID', string.format('%.0f-0', bound)) end
end
)lua";

}  // namespace

// Appends a message once. KEYS: marker, stream, set of actors. ARGV: receiver, sender, lifetime of the marker in ms,
// then the fields. Returns {1, id}, {0, id} if it was there, or {2, id, names...} with the known actors for a new
// mailbox.
const RedisScript& send() {
  static const RedisScript script(R"lua(
local was = redis.call('GET', KEYS[1])
if was then return {0, was} end
local names
if ARGV[1] ~= ARGV[2] and redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then
  names = redis.call('SMEMBERS', KEYS[3])
  table.sort(names)
end
redis.call('SADD', KEYS[3], ARGV[1], ARGV[2])
local id = redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
redis.call('SET', KEYS[1], id, 'PX', ARGV[3])
if names then return {2, id, unpack(names, 1, math.min(#names, 1000))} end
return {1, id}
)lua");
  return script;
}

// Leases one message. KEYS: stream, set of actors, result of this call (makes a repeat return the same entry).
// ARGV: actor, lease in ms, 1 to filter by type, type, 1 to filter by answered id, id.
// Returns {1, id, attempts, entry}, or {0, ms until a lease expires or -1, last id of the stream}.
// Pending entries that are idle longer than the lease are free; the delivery count is the number of attempts.
const RedisScript& offer() {
  static const RedisScript script(R"lua(
local stream, me, lease = KEYS[1], ARGV[1], tonumber(ARGV[2])
redis.call('SADD', KEYS[2], me)
redis.pcall('XGROUP', 'CREATE', stream, 'g', '0', 'MKSTREAM')
local was = redis.call('HMGET', KEYS[3], 'id', 'count')
if was[1] then
  local entry = redis.call('XRANGE', stream, was[1], was[1])[1]
  for i = 1, entry and #entry[2] or 0, 2 do
    if entry[2][i] == 'e' then return {1, was[1], tonumber(was[2]), entry[2][i + 1]} end
  end
end
local soonest = -1
local function fitting(fields)
  local at = {}
  for i = 1, #fields, 2 do at[fields[i]] = fields[i + 1] end
  if ARGV[3] == '1' and at.y ~= ARGV[4] then return nil end
  if ARGV[5] == '1' and at.q ~= ARGV[6] then return nil end
  return at.e or ''
end
local function among_pending(from)
  while true do
    local page = redis.call('XPENDING', stream, 'g', from, '+', 100)
    for _, one in ipairs(page) do
      local id, idle, count = one[1], one[3], one[4]
      if idle < lease then
        if soonest < 0 or lease - idle < soonest then soonest = lease - idle end
      else
        local entry = redis.call('XRANGE', stream, id, id)
        local bytes = entry[1] and fitting(entry[1][2])
        if not entry[1] then
          redis.call('XACK', stream, 'g', id)
        elseif bytes then
          redis.call('XCLAIM', stream, 'g', me, 0, id, 'RETRYCOUNT', count + 1, 'JUSTID')
          redis.call('HSET', KEYS[3], 'id', id, 'count', count + 1)
          redis.call('PEXPIRE', KEYS[3], lease)
          return {1, id, count + 1, bytes}
        end
      end
    end
    if #page < 100 then return nil end
    from = '(' .. page[#page][1]
  end
end
local from = '-'
while true do
  local found = among_pending(from)
  if found then return found end
  local new = redis.call('XREADGROUP', 'GROUP', 'g', me, 'COUNT', 10, 'STREAMS', stream, '>')
  if not new or not new[1] or #new[1][2] == 0 then break end
  for _, entry in ipairs(new[1][2]) do
    redis.call('XCLAIM', stream, 'g', me, 0, entry[1], 'TIME', 0, 'RETRYCOUNT', 0, 'JUSTID')
  end
  from = new[1][2][1][1]
end
local info = redis.call('XINFO', 'STREAM', stream)
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then return {0, soonest, info[i + 1]} end
end
return {0, soonest, '0-0'}
)lua");
  return script;
}

// Acknowledges one message and trims the stream. KEYS: stream. ARGV: id, ms that acknowledged entries stay.
const RedisScript& take() {
  static const RedisScript script(std::string(trimming) + R"lua(
redis.call('XACK', KEYS[1], 'g', ARGV[1])
trim(KEYS[1], tonumber(ARGV[2]))
return 1
)lua");
  return script;
}

// Lists the oldest unread messages; changes nothing. KEYS: stream. ARGV: limit. Returns {unread count, {fields...}...}.
const RedisScript& look() {
  static const RedisScript script(R"lua(
local stream, most, found, count = KEYS[1], tonumber(ARGV[1]), {}, 0
if redis.call('EXISTS', stream) == 0 then return {0} end
local info = redis.call('XINFO', 'GROUPS', stream)
local behind = '-'
if info[1] then
  local at = {}
  for i = 1, #info[1], 2 do at[info[1][i]] = info[1][i + 1] end
  behind = '(' .. at['last-delivered-id']
  count = redis.call('XPENDING', stream, 'g')[1]
  for _, one in ipairs(redis.call('XPENDING', stream, 'g', '-', '+', most)) do
    local entry = redis.call('XRANGE', stream, one[1], one[1])
    if entry[1] then found[#found + 1] = entry[1][2] end
  end
end
while true do
  local page = redis.call('XRANGE', stream, behind, '+', 'COUNT', 100)
  count = count + #page
  for _, entry in ipairs(page) do
    if #found < most then found[#found + 1] = entry[2] end
  end
  if #page < 100 then break end
  behind = '(' .. page[#page][1]
end
for _, fields in ipairs(found) do
  for i = 1, #fields, 2 do
    if fields[i] == 'e' then fields[i + 1] = '' end
  end
end
return {count, unpack(found)}
)lua");
  return script;
}

// --- tasks: one hash each (e envelope, m name, s state, o owner, v version, n claim counter, y type, w last writer),
// and one sorted set per state. KEYS of scripts that change a task: task, open, leases, done, dead.

// Adds a task. ARGV: name, envelope, type, state, score, owner. Returns 1, or 0 if the task is there.
const RedisScript& put_task() {
  static const RedisScript script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local place = {open = KEYS[2], claimed = KEYS[3], done = KEYS[4], dead = KEYS[5]}
redis.call('HSET', KEYS[1], 'e', ARGV[2], 'm', ARGV[1], 's', ARGV[4], 'o', ARGV[6], 'v', 1, 'n', 0, 'y', ARGV[3])
redis.call('ZADD', place[ARGV[4]], ARGV[5], ARGV[1])
return 1
)lua");
  return script;
}

// Finds the first open task that matches. KEYS: open. ARGV: 1 to filter by type, type, prefix of task keys.
// Returns {name, envelope, version, {seconds, microseconds}} or nothing.
// A name has 20 digits, '-', and the end of the task's key.
const RedisScript& next_task() {
  static const RedisScript script(R"lua(
local from = 0
while true do
  local page = redis.call('ZRANGE', KEYS[1], from, from + 99)
  for _, name in ipairs(page) do
    local task = redis.call('HMGET', ARGV[3] .. string.sub(name, 22), 'e', 'v', 'y')
    if task[1] and (ARGV[1] ~= '1' or task[3] == ARGV[2]) then return {name, task[1], task[2], redis.call('TIME')} end
  end
  if #page < 100 then return false end
  from = from + 100
end
)lua");
  return script;
}

// Reads a task. KEYS: task.
// Returns {name, envelope, version, {seconds, microseconds}, state, owner, counter} or nothing.
const RedisScript& get_task() {
  static const RedisScript script(R"lua(
local task = redis.call('HMGET', KEYS[1], 'm', 'e', 'v', 's', 'o', 'n')
if not task[1] then return false end
return {task[1], task[2], task[3], redis.call('TIME'), task[4], task[5], task[6]}
)lua");
  return script;
}

// Changes a task if its version is as read. ARGV: version, state, envelope, owner, lease in ms, score if open,
// "claim" | "over" | "", id of this write (a repeat changes nothing).
// Returns {1, counter}, {0} for another version, or {-1} if "over" and the lease has not expired by the server's clock.
const RedisScript& change_task() {
  static const RedisScript script(R"lua(
local task = redis.call('HMGET', KEYS[1], 'v', 'm', 'n', 'w')
if task[4] and task[4] == ARGV[8] then return {1, task[3]} end
if not task[1] or task[1] ~= ARGV[1] then return {0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[7] == 'over' then
  local ends = redis.call('ZSCORE', KEYS[3], task[2])
  if ends and tonumber(ends) >= now then return {-1} end
end
local place = {open = KEYS[2], claimed = KEYS[3], done = KEYS[4], dead = KEYS[5]}
local score = {open = ARGV[6], claimed = now + tonumber(ARGV[5]), done = now, dead = now}
for i = 2, 5 do redis.call('ZREM', KEYS[i], task[2]) end
redis.call('ZADD', place[ARGV[2]], string.format('%.17g', score[ARGV[2]]), task[2])
local counter = tonumber(task[3])
if ARGV[7] == 'claim' then counter = counter + 1 end
redis.call('HSET', KEYS[1], 'v', task[1] + 1, 's', ARGV[2], 'e', ARGV[3], 'o', ARGV[4], 'n', counter, 'w', ARGV[8])
return {1, counter}
)lua");
  return script;
}

// Lists tasks of one state. KEYS: sorted set. ARGV: prefix, lowest score, "over" or "", offset, limit.
// Returns {name, envelope, owner, version, {seconds, microseconds}}... "over": only scores before the server's time.
const RedisScript& list_tasks() {
  static const RedisScript script(R"lua(
local time, till, found = redis.call('TIME'), '+inf', {}
local over = ARGV[3] == 'over'
if over then till = '(' .. string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[2], till, 'LIMIT', ARGV[4], ARGV[5])) do
  local task = redis.call('HMGET', ARGV[1] .. string.sub(name, 22), 'e', 'o', 'v')
  if over and not task[1] then redis.call('ZREM', KEYS[1], name)
  else found[#found + 1] = {name, task[1] or '', task[2] or '', task[3] or '0', time} end
end
return found
)lua");
  return script;
}

// Lists the tasks of one owner. KEYS: leases. ARGV: prefix, owner. Returns their names, sorted.
const RedisScript& tasks_of() {
  static const RedisScript script(R"lua(
local found = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('HGET', ARGV[1] .. string.sub(name, 22), 'o') == ARGV[2] then found[#found + 1] = name end
end
table.sort(found)
return found
)lua");
  return script;
}

// --- between nodes. The lease scripts have KEYS: leader, epoch. The value of `epoch` is "EPOCH HOST": of two leaders under
// one number, as after the data was emptied, only the later one is not fenced.

// Takes the lease if it is free or already this node's, which fences an earlier process of this node.
// KEYS also: born, the identity of this data, set by the first leader. ARGV: node, lease in ms, known epoch, identity.
// Returns {ours, holder, epoch, ms left}.
const RedisScript& elect() {
  static const RedisScript script(R"lua(
local holder = redis.call('GET', KEYS[1])
local epoch = tonumber(string.match(redis.call('GET', KEYS[2]) or '0', '^%d+') or '0')
if holder and holder ~= ARGV[1] then return {0, holder, epoch, redis.call('PTTL', KEYS[1])} end
epoch = math.max(epoch, tonumber(ARGV[3])) + 1
redis.call('SET', KEYS[2], string.format('%.0f %s', epoch, ARGV[1]))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[3], ARGV[4], 'NX')
return {1, ARGV[1], epoch, tonumber(ARGV[2])}
)lua");
  return script;
}

// Extends the lease. ARGV: node, lease in ms, epoch. Returns {ours, holder, epoch, ms left}.
const RedisScript& renew() {
  static const RedisScript script(R"lua(
local holder, led = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]) or '0'
local epoch = tonumber(string.match(led, '^%d+') or '0')
if holder == ARGV[1] and led == ARGV[3] .. ' ' .. ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, holder, epoch, tonumber(ARGV[2])}
end
return {0, holder or '', epoch, math.max(redis.call('PTTL', KEYS[1]), 0)}
)lua");
  return script;
}

// Releases the lease if node and epoch match. ARGV: node, epoch.
const RedisScript& resign() {
  static const RedisScript script(R"lua(
if redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('GET', KEYS[2]) == ARGV[2] .. ' ' .. ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 1
)lua");
  return script;
}

// Appends frames once per marker. KEYS: stream and marker per frame, then epoch if sent as leader.
// ARGV: "EPOCH HOST" or "", lifetime of a marker in ms, fields per frame, then all fields.
// Returns 1 (appended) or 0 (was there) per frame, or {-1, epoch} if fenced.
const RedisScript& append() {
  static const RedisScript script(R"lua(
if ARGV[1] ~= '' then
  local led = redis.call('GET', KEYS[#KEYS])
  if led ~= ARGV[1] then return {-1, tonumber(string.match(led or '0', '^%d+') or '0')} end
end
local size, done = tonumber(ARGV[3]), {}
for i = 1, math.floor(#KEYS / 2) do
  local stream, mark = KEYS[i * 2 - 1], KEYS[i * 2]
  if redis.call('EXISTS', mark) == 1 then
    done[i] = 0
  else
    local first = 4 + (i - 1) * size
    redis.call('SET', mark, redis.call('XADD', stream, '*', unpack(ARGV, first, first + size - 1)), 'PX', ARGV[2])
    done[i] = 1
  end
end
return done
)lua");
  return script;
}

// Decides a request and appends the answer. KEYS: epoch, request, stream, marker. ARGV: epoch, node, answer, lifetime
// of the marker and of the request in ms, then the fields. Returns {1} if decided now, {2} if decided before with these
// bytes, {0, bytes, node, epoch} for another answer, or {-1, epoch} if fenced.
const RedisScript& answer() {
  static const RedisScript script(R"lua(
local led = redis.call('GET', KEYS[1])
if led ~= ARGV[1] .. ' ' .. ARGV[2] then return {-1, tonumber(string.match(led or '0', '^%d+') or '0')} end
local was = redis.call('HMGET', KEYS[2], 'answer', 'by', 'epoch')
if was[1] and was[1] ~= ARGV[3] then return {0, was[1], was[2], tonumber(was[3])} end
if not was[1] then
  redis.call('HSET', KEYS[2], 'answer', ARGV[3], 'by', ARGV[2], 'epoch', ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
if redis.call('EXISTS', KEYS[4]) == 0 then
  redis.call('SET', KEYS[4], redis.call('XADD', KEYS[3], '*', unpack(ARGV, 6)), 'PX', ARGV[4])
end
return {was[1] and 2 or 1}
)lua");
  return script;
}

// Acknowledges entries and trims the stream. KEYS: stream. ARGV: ms that acknowledged entries stay, then ids.
const RedisScript& ack() {
  static const RedisScript script(std::string(trimming) + R"lua(
redis.call('XACK', KEYS[1], 'g', unpack(ARGV, 2))
trim(KEYS[1], tonumber(ARGV[1]))
return 1
)lua");
  return script;
}

}  // namespace inbox_poller::poller::scripts
