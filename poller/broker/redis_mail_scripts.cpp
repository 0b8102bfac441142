// Lua scripts of a daemon on a team's inboxes: scan all, read entries of one, read status, recall.
#include "poller/broker/redis_scripts.hpp"

namespace inbox_poller::poller::scripts {

namespace {

// group_of() returns the last entry that the group received and the group's description; nil without group or stream.
// An error reply comes third. later() compares two entry ids as numbers.
constexpr const char* group_of = R"lua(
local function group_of(stream)
  local groups = redis.pcall('XINFO', 'GROUPS', stream)
  if groups.err then return nil, nil, groups end
  for _, one in ipairs(groups) do
    local at = {}
    for i = 1, #one, 2 do at[one[i]] = one[i + 1] end
    if at.name == 'g' then return at['last-delivered-id'], at end
  end
end
local function later(one, other)
  local a, b = string.match(one, '^(%d+)'), string.match(other, '^(%d+)')
  if a ~= b then return #a > #b or (#a == #b and a > b) end
  a, b = string.match(one, '%-(%d+)$') or '0', string.match(other, '%-(%d+)$') or '0'
  return #a > #b or (#a == #b and a > b)
end
)lua";

}  // namespace

// Scans all inboxes and claims the lead's mail for one daemon.
// KEYS: set of actors, key of the claim. ARGV: prefix and suffix of stream names, actor to claim or "" (read only),
// limit, name of this daemon, claim in ms. The claimed actor is added to the set.
// Returns the name of another daemon that has the claim. Otherwise returns one list per actor:
// {name, last received entry or "", pending count, unreceived count or -1 for some, other data that changes}.
// An actor without a stream has only {name}; a key that is not a stream has {name, error}.
const RedisScript& boxes() {
  static const RedisScript script(std::string(group_of) + R"lua(
if ARGV[3] ~= '' then
  local other = redis.call('GET', KEYS[2])
  if other and other ~= ARGV[5] then return other end
  if redis.call('PTTL', KEYS[2]) < ARGV[6] / 2 then redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6]) end
  redis.pcall('SADD', KEYS[1], ARGV[3])
end
local names, found = redis.call('SMEMBERS', KEYS[1]), {}
table.sort(names)
for i = 1, math.min(#names, tonumber(ARGV[4])) do
  local stream = ARGV[1] .. names[i] .. ARGV[2]
  if redis.call('EXISTS', stream) == 0 then
    found[i] = {names[i]}
  else
    local delivered, at, wrong = group_of(stream)
    if wrong then
      found[i] = {names[i], wrong.err}
    else
      local rest, else_ = at and at.lag, 0
      if not rest then  -- without a reader yet, or after something was taken out of the middle
        local info, stream_at = redis.call('XINFO', 'STREAM', stream), {}
        for j = 1, #info, 2 do stream_at[info[j]] = info[j + 1] end
        else_ = stream_at['last-generated-id']
        rest = at and (later(else_, delivered) and -1 or 0) or stream_at.length
      end
      found[i] = {names[i], delivered or '', at and at.pending or 0, rest, else_}
    end
  end
end
return found
)lua");
  return script;
}

// Reads unacknowledged entries in stream order. With a reader, the entries are leased to the reader.
// KEYS: stream. ARGV: reader or "" (read only), lease of other consumers in ms, id to start after or "", limit,
// limit in bytes, limit in bytes of one entry. Longer entries are cut to 65,536 bytes.
// Returns {1 if there may be more, first entry leased to another consumer or "", {id, entry}...}.
const RedisScript& show() {
  static const RedisScript script(std::string(group_of) + R"lua(
local stream, me, lease, from = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local most, room, longest = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local found, left, owns = {}, '', me ~= ''
if redis.call('EXISTS', stream) == 0 then return {0, ''} end
if owns then
  local made = redis.pcall('XGROUP', 'CREATE', stream, 'g', '0')
  if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then return made end
end
local delivered, _, wrong = group_of(stream)
if wrong then return wrong end
local function is_full() return #found >= most or room <= 0 end
local function add(id, fields)
  local bytes
  for i = 1, #fields, 2 do
    if fields[i] == 'e' then bytes = fields[i + 1] end
  end
  bytes = bytes or table.concat(fields, '\n')
  if #bytes > longest then bytes = string.sub(bytes, 1, 65536) end
  room = room - #bytes
  found[#found + 1] = {id, bytes}
end
local at = from == '' and '-' or '(' .. from
while delivered and not is_full() do
  local page = redis.call('XPENDING', stream, 'g', at, '+', 100)
  for _, one in ipairs(page) do
    if is_full() then break end
    local entry = redis.call('XRANGE', stream, one[1], one[1])[1]
    if not entry then
      if owns then redis.call('XACK', stream, 'g', one[1]) end
    elseif not owns or one[2] == me or one[3] >= lease then
      if owns then redis.call('XCLAIM', stream, 'g', me, 0, one[1], 'RETRYCOUNT', one[4], 'JUSTID') end
      add(one[1], entry[2])
    elseif left == '' then
      left = one[1]
    end
    at = '(' .. one[1]
  end
  if #page < 100 then break end
end
while owns and not is_full() do
  local new = redis.call('XREADGROUP', 'GROUP', 'g', me, 'COUNT', math.min(10, most - #found), 'STREAMS', stream, '>')
  if not new or not new[1] or #new[1][2] == 0 then break end
  for _, entry in ipairs(new[1][2]) do add(entry[1], entry[2]) end
end
if not owns then
  local behind = from
  if delivered and (behind == '' or later(delivered, behind)) then behind = delivered end
  while not is_full() do
    local page = redis.call('XRANGE', stream, behind == '' and '-' or '(' .. behind, '+', 'COUNT', 10)
    for _, entry in ipairs(page) do
      if is_full() then break end
      add(entry[1], entry[2])
      behind = entry[1]
    end
    if #page < 10 then break end
  end
end
return {is_full() and 1 or 0, left, unpack(found)}
)lua");
  return script;
}

// Reads the status of written messages and renews their markers.
// KEYS: stream, then markers. ARGV: lifetime of a marker in ms. Returns "waiting", "taken" or "lost" per marker.
const RedisScript& read_statuses() {
  static const RedisScript script(std::string(group_of) + R"lua(
local stream, found = KEYS[1], {}
local is_there = redis.call('EXISTS', stream) == 1
local delivered = is_there and group_of(stream) or nil
for i = 2, #KEYS do
  local id = redis.call('GET', KEYS[i])
  if not id or not is_there then
    found[i - 1] = 'lost'
  else
    redis.call('PEXPIRE', KEYS[i], ARGV[1])
    local waits
    if delivered and not later(id, delivered) then waits = #redis.call('XPENDING', stream, 'g', id, id, 1) > 0
    else waits = #redis.call('XRANGE', stream, id, id) > 0 end
    found[i - 1] = waits and 'waiting' or 'taken'
  end
end
return found
)lua");
  return script;
}

// Removes unread messages from the stream. KEYS: stream, then markers. Returns 1, or 0 if the stream does not exist.
const RedisScript& recall() {
  static const RedisScript script(std::string(group_of) + R"lua(
local stream = KEYS[1]
if redis.call('EXISTS', stream) == 0 then return 0 end
local delivered = group_of(stream)
for i = 2, #KEYS do
  local id = redis.call('GET', KEYS[i])
  if id and (not delivered or later(id, delivered) or #redis.call('XPENDING', stream, 'g', id, id, 1) > 0) then
    if delivered then redis.call('XACK', stream, 'g', id) end
    redis.call('XDEL', stream, id)
  end
end
return 1
)lua");
  return script;
}

}  // namespace inbox_poller::poller::scripts
