#include "poller/broker/redis_scripts.hpp"

namespace inbox_poller::poller::scripts {

namespace {

// Entries that all readers are through with and that are old enough leave a stream: never one that is pending or that
// was not read yet. Ids begin with milliseconds.
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

// KEYS mark, stream, boxes. ARGV to, from, mark's ms, then the fields. {1, id}; {0, id} was there; {2, id, names...} the
// box is new, and these were there.
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

// KEYS stream, boxes, this call's own. ARGV actor, lease in ms, type wanted, type, answer wanted, to what.
// {1, id, attempts, entry}; {0, ms until an offer ends or -1, the stream's last id}. What is pending and idle for longer
// than the lease is offered to nobody; its count is how often it was offered.
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

// KEYS stream. ARGV id, ms that what was taken stays.
const RedisScript& take() {
  static const RedisScript script(std::string(trimming) + R"lua(
redis.call('XACK', KEYS[1], 'g', ARGV[1])
trim(KEYS[1], tonumber(ARGV[2]))
return 1
)lua");
  return script;
}

// KEYS stream. ARGV most. {how many unread, {fields...}...}: the oldest; changes nothing.
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

// --- tasks: a hash each (e envelope, m name, s state, o owner, v version, n counter of claims, y type, w who wrote last),
// and a sorted set a state. KEYS of all that change one: task, open, leases, done, dead.

// ARGV name, e, type, state, score, owner. 1, or 0: it was there.
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

// KEYS open. ARGV type wanted, type, prefix of a task's key. The first that fits: {name, e, v, {seconds, microseconds}},
// or nothing. A name is 20 digits, '-', and what the task's key ends with.
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

// KEYS task. {name, e, v, {seconds, microseconds}, state, owner, counter}, or nothing.
const RedisScript& get_task() {
  static const RedisScript script(R"lua(
local task = redis.call('HMGET', KEYS[1], 'm', 'e', 'v', 's', 'o', 'n')
if not task[1] then return false end
return {task[1], task[2], task[3], redis.call('TIME'), task[4], task[5], task[6]}
)lua");
  return script;
}

// ARGV version, state, e, owner, lease in ms, score when open, "claim" | "over" | "", who writes.
// {1, counter}; {0} when it is not that version any more; {-1} when its lease is not over by the server's clock.
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

// KEYS one of the sets. ARGV prefix, from which score on, "over" or "", how many not, most. {name, e, owner, v,
// {seconds, microseconds}}... "over": those whose score is over by the server's clock.
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

// KEYS leases. ARGV prefix, owner. The names of his, sorted.
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

// --- between hosts. KEYS leader, epoch.

// And born: the name of this engine's data, made by the first who leads. ARGV host, ms, epoch that he knows, name.
// {ours, holder, epoch, ms left}. One's own lease is taken anew: an earlier process of this host has ended, or is fenced.
const RedisScript& elect() {
  static const RedisScript script(R"lua(
local holder, epoch = redis.call('GET', KEYS[1]), tonumber(redis.call('GET', KEYS[2]) or '0')
if holder and holder ~= ARGV[1] then return {0, holder, epoch, redis.call('PTTL', KEYS[1])} end
epoch = math.max(epoch, tonumber(ARGV[3])) + 1
redis.call('SET', KEYS[2], string.format('%.0f', epoch))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[3], ARGV[4], 'NX')
return {1, ARGV[1], epoch, tonumber(ARGV[2])}
)lua");
  return script;
}

// ARGV host, ms, epoch. {ours, holder, epoch, ms left}.
const RedisScript& renew() {
  static const RedisScript script(R"lua(
local holder, epoch = redis.call('GET', KEYS[1]), tonumber(redis.call('GET', KEYS[2]) or '0')
if holder == ARGV[1] and epoch == tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, holder, epoch, tonumber(ARGV[2])}
end
return {0, holder or '', epoch, math.max(redis.call('PTTL', KEYS[1]), 0)}
)lua");
  return script;
}

// ARGV host, epoch.
const RedisScript& resign() {
  static const RedisScript script(R"lua(
if redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('GET', KEYS[2]) == ARGV[2] then redis.call('DEL', KEYS[1]) end
return 1
)lua");
  return script;
}

// KEYS stream and mark of each, and the epoch as the last one when somebody leads. ARGV epoch or "", ms that a mark stays,
// how many fields an entry has, then the fields of each. {{1 | 0}...} appended or there; {-1, epoch} when fenced.
const RedisScript& append() {
  static const RedisScript script(R"lua(
if ARGV[1] ~= '' then
  local epoch = redis.call('GET', KEYS[#KEYS])
  if not epoch or tonumber(epoch) ~= tonumber(ARGV[1]) then return {-1, tonumber(epoch or '0')} end
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

// KEYS epoch, ask, stream, mark. ARGV epoch, host, bytes of the answer, ms that a mark stays, ms that an ask stays, then
// the fields of the letter. {1} decided; {2} ours was; {0, bytes, host, epoch} another was; {-1, epoch} fenced.
const RedisScript& answer() {
  static const RedisScript script(R"lua(
local epoch = redis.call('GET', KEYS[1])
if not epoch or tonumber(epoch) ~= tonumber(ARGV[1]) then return {-1, tonumber(epoch or '0')} end
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

// KEYS stream. ARGV ms that what was read stays, then ids.
const RedisScript& ack() {
  static const RedisScript script(std::string(trimming) + R"lua(
redis.call('XACK', KEYS[1], 'g', unpack(ARGV, 2))
trim(KEYS[1], tonumber(ARGV[1]))
return 1
)lua");
  return script;
}

}  // namespace inbox_poller::poller::scripts
