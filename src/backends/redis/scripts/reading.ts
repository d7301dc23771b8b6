import { type Script, script } from "./script.ts";

/** How many fields are read at once: Lua cannot pass more than a few thousand arguments. */
const POSITIONS_AT_ONCE = 500;

const CHAIN = `
-- {generation, tail, entry of the tail, then position, entry and body of each record}
local function chain(key, thread, from, to)
  local reply = {thread.generation, tostring(thread.tail), redis.call('HGET', key, 'e:' .. thread.tail)}
  local last = 3
  for start = math.max(from, thread.first), to, ${POSITIONS_AT_ONCE} do
    local stop = math.min(start + ${POSITIONS_AT_ONCE - 1}, to)
    local fields = {}
    for position = start, stop do
      fields[#fields + 1] = 'e:' .. position
      fields[#fields + 1] = 'b:' .. position
    end
    local values = redis.call('HMGET', key, unpack(fields))
    for position = start, stop do
      local at = (position - start) * 2 + 1
      if values[at] then
        reply[last + 1], reply[last + 2], reply[last + 3] = tostring(position), values[at], values[at + 1] or ''
        last = last + 3
      end
    end
  end
  return reply
end
`;

const THREAD_OR_NIL = `
local key = KEYS[1]
local thread, fault = readThread(key)
if fault then return fault end
if not thread then return outOfStep() or false end
`;

export const READ_TAIL: Script = script(`${CHAIN}${THREAD_OR_NIL}
local from = thread.base
if ARGV[1] == thread.generation then
  local known = tonumber(ARGV[2])
  local entry = known >= thread.first and known <= thread.tail and redis.call('HGET', key, 'e:' .. string.format('%.0f', known))
  if entry and writeOf(entry) == ARGV[3] then from = math.max(from, known + 1) end
end
return chain(key, thread, from, thread.tail)
`);

/** The newest records below a position, limited by count and by bytes, but always at least one record. */
export const READ_RECORDS: Script = script(`${THREAD_OR_NIL}
local limit, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local position = math.min(tonumber(ARGV[1]) - 1, thread.tail)
local found, bytes = {}, 0
while position >= thread.first and #found < limit do
  local record = redis.call('HMGET', key, 'e:' .. position, 'b:' .. position)
  if record[1] then
    bytes = bytes + #(record[2] or '')
    if bytes > most and #found > 0 then break end
    found[#found + 1] = {tostring(position), record[1], record[2] or ''}
  end
  position = position - 1
end
local reply = {thread.generation, tostring(thread.tail), redis.call('HGET', key, 'e:' .. thread.tail)}
for at = #found, 1, -1 do
  for part = 1, 3 do reply[#reply + 1] = found[at][part] end
end
return reply
`);

export const READ_CHECKPOINT: Script = script(`${CHAIN}${THREAD_OR_NIL}
local position = redis.call('HGET', key, 'c:' .. ARGV[1])
if not position then return outOfStep() or false end
local entry = redis.call('HGET', key, 'e:' .. position)
if not entry then return redis.error_reply('NOTHREAD ' .. key) end
return chain(key, thread, tonumber(string.match(entry, '^%d+')), tonumber(position))
`);

/** {position, entry} of the newest record with a name, or nil. */
export const READ_ENTRY: Script = script(`${THREAD_OR_NIL}
local position = redis.call('HGET', key, 'c:' .. ARGV[1])
if not position then return outOfStep() or false end
return {position, redis.call('HGET', key, 'e:' .. position)}
`);

/**
 * {generation, position, entry} of the newest record and the thread's remaining
 * milliseconds, negative without an expiry; or nil.
 */
export const READ_NEWEST: Script = script(`${THREAD_OR_NIL}
local left = tostring(redis.call('PTTL', key))
return {thread.generation, tostring(thread.tail), redis.call('HGET', key, 'e:' .. thread.tail), left}
`);

/**
 * KEYS  any number of threads on one server
 * For each of them {} for a thread without a checkpoint, {position, entry} of the newest one, nil for no thread,
 * or {"fault", what is wrong} for one that cannot be read.
 */
export const READ_HEADS: Script = script(`
local function readHead(key)
  local thread, fault = readThread(key)
  if fault then return fault end
  if not thread then return false end
  if thread.head == 0 then return {} end
  return {tostring(thread.head), redis.call('HGET', key, 'e:' .. thread.head)}
end
local heads = {}
for at, key in ipairs(KEYS) do
  local done, head = pcall(readHead, key)
  if not done then
    local message = type(head) == 'table' and head.err or tostring(head)
    if not string.find(message, 'WRONGTYPE', 1, true) then return redis.error_reply(message) end
    head = {err = 'NOTHREAD ' .. key}
  end
  if head and head.err then head = {'fault', head.err} end
  heads[at] = head
end
return heads
`);

/** Position and entry of each checkpoint, newest first. */
export const LIST: Script = script(`${THREAD_OR_NIL}
local before, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local reply, found = {}, 0
local position = math.min(before - 1, thread.tail)
while position >= thread.first and found < limit do
  local wanted = math.max(16, math.min(limit - found, ${POSITIONS_AT_ONCE}))
  local stop = math.max(thread.first, position - wanted + 1)
  local fields = {}
  for at = position, stop, -1 do fields[#fields + 1] = 'e:' .. at end
  local entries = redis.call('HMGET', key, unpack(fields))
  for at = 1, #fields do
    if entries[at] and found < limit and string.find(entries[at], '^[^\\n]*\\n[^\\n]') then
      reply[found * 2 + 1], reply[found * 2 + 2] = tostring(position - at + 1), entries[at]
      found = found + 1
    end
  end
  position = stop - 1
end
return reply
`);
