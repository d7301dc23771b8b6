import { MENDING, NO_ITEM, PARTS_FIELD } from "../store-layout.ts";
import { type Script, script } from "./script.ts";

/** About what the note of a write takes, which is kept for ten minutes. */
const NOTE_BYTES = 200;

/** The keys as store-layout.ts lists them, and the steps that all writes share. */
const NAMES = `
-- A right that is missing must be found out before the first write: a script that fails is not undone.
local function forbidden()
  local needed = {{'hset', KEYS[1], '-', '-'}, {'hlen', KEYS[1]}, {'hstrlen', KEYS[1], '-'},
    {'hexists', KEYS[1], '-'}, {'zcard', KEYS[2]}, {'hdel', KEYS[1], '-'}, {'zadd', KEYS[2], '0', '-'}, {'zrem', KEYS[2], '-'},
    {'zrangebyscore', KEYS[6], '0', '0'}}
  for _, command in ipairs(needed) do
    if redis.acl_check_cmd and not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply('NOPERM this user may not run ' .. command[1])
    end
  end
end
local items, ids, vectors, vids, words = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ends, writes, written = KEYS[6], KEYS[7], KEYS[8]
local HEAD = '^([%w_-]+) (%d+) (%d+) (%d+) (%d+) (-?%d+) (%d+) (%d+)\\n'
local function whole(number) return string.format('%.0f', number) end

-- How much each part holds, in a field of the hash of items that no item has as its id. A server that evicts takes whole keys.
local PARTS = '${PARTS_FIELD}'
local function partsNow()
  local counts = {}
  for at, key in ipairs({items, vectors, writes}) do counts[at] = redis.call('HLEN', key) end
  for at, key in ipairs({ids, vids, words, ends, written}) do counts[3 + at] = redis.call('ZCARD', key) end
  return table.concat(counts, ' ')
end
local function apart()
  local noted = redis.call('HGET', items, PARTS)
  local now = partsNow()
  if noted == now or (not noted and now == '0 0 0 0 0 0 0 0') then return nil end
  return outOfStep() or redis.error_reply('APART the parts of the store do not belong together')
end
local function noteParts()
  if redis.call('HEXISTS', items, PARTS) == 0 then redis.call('HSET', items, PARTS, '') end
  redis.call('HSET', items, PARTS, partsNow())
end

local function readItem(id)
  local record = redis.call('HGET', items, id)
  if not record then return nil end
  local version, created, updated, finish = string.match(record, '^([%w_-]+) (%d+) (%d+) (%d+) ')
  if not version then
    return {isDamaged = true, record = '', version = 'damaged', created = whole(milliseconds()), updated = 0, finish = 0}
  end
  return {record = record, version = version, created = created, updated = tonumber(updated), finish = tonumber(finish)}
end
local function isLive(item, now) return item and (item.finish == 0 or item.finish > now) end

local function eachWord(record, act)
  local _, at, _, _, _, _, value, metadata, valueFields, metadataFields = string.find(record, HEAD)
  if not at then return end
  local from = at + 1 + value + math.max(0, metadata) + valueFields + metadataFields
  for word, weight in string.gmatch(string.sub(record, from), '([^ ]+) ([^\\n]+)\\n') do act(word, weight) end
end
-- The name under which the vector of an item lies, if it has one.
local function vectorOf(id) return redis.call('ZRANGEBYLEX', vids, '[' .. id .. '\\2', '(' .. id .. '\\3', 'LIMIT', 0, 1)[1] end
local function take(id, item)
  eachWord(item.record, function (word, weight) redis.call('ZREM', words, word .. '\\1' .. id .. '\\2' .. weight) end)
  local named = vectorOf(id)
  if named then
    redis.call('HDEL', vectors, named)
    redis.call('ZREM', vids, named)
  end
  redis.call('ZREM', ends, id)
end
local function takeOut(id, item)
  take(id, item)
  redis.call('HDEL', items, id)
  redis.call('ZREM', ids, id)
end
local function takeOutEnded(now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', whole(now), 'LIMIT', 0, 20)) do
    local item = readItem(id)
    if item and not isLive(item, now) then takeOut(id, item) else redis.call('ZREM', ends, id) end
  end
end
`;

/**
 * ARGV  for how long writes are remembered, how much larger this may make a full server's store, then nine for each change: "put" or "remove", id, write key, digest, expected
 * version (NO_ITEM for no item, "" for any), version, body, vector or "", milliseconds to live, "keep" or "". Returns {"refused",
 * index, "version" and which is there, or "write key"}, or {"applied", then "1" for a repeated one or "0", and "version created
 * updated end" of each}.
 */
export const WRITE_ITEMS: Script = script(`${NAMES}
local denied = forbidden() or apart()
if denied then return denied end
local now = milliseconds()
local remembered = tonumber(ARGV[1])
local known = {}
for at = 3, #ARGV, 9 do
  local before = redis.call('HGET', writes, ARGV[at + 2])
  if before then
    local digest, result = string.match(before, '^([^ ]*) (.*)$')
    if digest ~= ARGV[at + 3] then return {'refused', tostring((at - 3) / 9), 'write key'} end
    known[at] = result
  elseif ARGV[at + 4] ~= '' then
    local item = readItem(ARGV[at + 1])
    if item and item.isDamaged then return redis.error_reply('DAMAGEDITEM the item that is there cannot be read') end
    local version = isLive(item, now) and item.version or '${NO_ITEM}'
    if version ~= ARGV[at + 4] then
      if version == '${NO_ITEM}' then
        local fault = outOfStep()
        if fault then return fault end
      end
      return {'refused', tostring((at - 3) / 9), 'version', version}
    end
  end
end
-- What only takes out, and what replaces items by smaller ones, works on a full server: it refuses a script whose first write
-- may need memory, and nothing behind its first write.
local room = tonumber(ARGV[2])
for at = 3, #ARGV, 9 do
  if not known[at] then
    room = room + redis.call('HSTRLEN', items, ARGV[at + 1])
    if ARGV[at] == 'put' then room = room - #ARGV[at + 6] - #ARGV[at + 7] - ${NOTE_BYTES} end
  end
end
if room >= 0 then redis.call('HDEL', writes, '-') end

local answer = {'applied'}
for at = 3, #ARGV, 9 do
  local kind, id, key, version = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 5]
  local body, vector, ttl = ARGV[at + 6], ARGV[at + 7], ARGV[at + 8]
  if known[at] then
    table.insert(answer, '1')
    table.insert(answer, known[at])
  else
    local item = readItem(id)
    if item and not isLive(item, now) then
      takeOut(id, item)
      item = nil
    end
    local result
    if kind == 'remove' then
      result = item and table.concat({item.version, item.created, whole(now), whole(item.finish)}, ' ')
        or table.concat({'${NO_ITEM}', whole(now), whole(now), '0'}, ' ')
      if item then takeOut(id, item) end
    else
      local finish = 0
      if ttl == 'keep' then finish = item and item.finish or 0 elseif ttl ~= '' then finish = now + tonumber(ttl) end
      result = table.concat({version, item and item.created or whole(now), whole(now), whole(finish)}, ' ')
      local record = result .. ' ' .. body
      -- The first write is one that a full server refuses.
      redis.call('HSET', items, id, record)
      if item then take(id, item) end
      redis.call('ZADD', ids, 0, id)
      eachWord(record, function (word, weight) redis.call('ZADD', words, 0, word .. '\\1' .. id .. '\\2' .. weight) end)
      if vector ~= '' then
        local named = id .. '\\2' .. version
        redis.call('HSET', vectors, named, struct.pack('<d', finish) .. vector)
        redis.call('ZADD', vids, 0, named)
      end
      if finish > 0 then redis.call('ZADD', ends, whole(finish), id) end
    end
    redis.call('HSET', writes, key, ARGV[at + 3] .. ' ' .. result)
    redis.call('ZADD', written, whole(now), key)
    table.insert(answer, '0')
    table.insert(answer, result)
  end
end
takeOutEnded(now)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', written, '-inf', '(' .. whole(now - remembered), 'LIMIT', 0, 20)) do
  redis.call('ZREM', written, old)
  redis.call('HDEL', writes, old)
end
noteParts()
return answer
`);

/** ARGV  ids. {the time, then a record or nil for each} */
export const READ_ITEMS: Script = script(`${NAMES}
local fault = apart()
if fault then return fault end
local answer = {whole(milliseconds())}
for at, id in ipairs(ARGV) do
  local record = redis.call('HGET', items, id)
  if not record then
    local fault = outOfStep()
    if fault then return fault end
  end
  answer[at + 1] = record or false
end
return answer
`);

/** ARGV  from, to, how many. {the time, then an id and its record for each} */
export const PAGE_OF_ITEMS: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
local answer = {whole(milliseconds())}
for _, id in ipairs(redis.call('ZRANGEBYLEX', ids, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])) do
  table.insert(answer, id)
  table.insert(answer, redis.call('HGET', items, id))
end
return answer
`);

/** ARGV  from, to. How many there are. */
export const COUNT_ITEMS: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
return whole(redis.call('ZLEXCOUNT', ids, ARGV[1], ARGV[2]))
`);

/** ARGV  how many of each word at most, then from and to for each. {how many items there are, then a list for each word} */
export const FIND_WORDS: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
local answer = {}
for at = 2, #ARGV, 2 do
  table.insert(answer, redis.call('ZRANGEBYLEX', words, ARGV[at], ARGV[at + 1], 'LIMIT', 0, ARGV[1]))
end
return answer
`);

/**
 * ARGV  from, to, how many at most, the digest that the caller knows. {the time, how many have vectors, a digest of their
 * names, and the names, one in a line}; without names where they are the same as those the caller knows, and with the
 * time and the count alone where they are too many.
 */
export const VECTOR_NAMES: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
local now = whole(milliseconds())
local count = redis.call('ZLEXCOUNT', vids, ARGV[1], ARGV[2])
if count > tonumber(ARGV[3]) then return {now, whole(count)} end
local lines = table.concat(redis.call('ZRANGEBYLEX', vids, ARGV[1], ARGV[2]), '\\n')
local digest = redis.sha1hex(lines)
return {now, whole(count), digest, digest ~= ARGV[4] and lines}
`);

/**
 * ARGV  "vectors", "records" or "both", then names of vectors. What those items have at one moment: {the time; the names of
 * their vectors, one in a line, empty where there is no vector; then for each its vector, its record, or both, or nil}.
 */
export const READ_VECTORS: Script = script(`${NAMES}
local fault = apart()
if fault then return fault end
local mode, names, answer = ARGV[1], {}, {whole(milliseconds()), ''}
for at = 2, #ARGV do
  local id = string.match(ARGV[at], '^([^\\2]*)')
  local named = ARGV[at]
  local vector = redis.call('HGET', vectors, named)
  if not vector then
    named = vectorOf(id)
    vector = named and redis.call('HGET', vectors, named)
  end
  if not vector then
    local fault = outOfStep()
    if fault then return fault end
  end
  names[at - 1] = named or ''
  if mode ~= 'records' then answer[#answer + 1] = vector or false end
  if mode ~= 'vectors' then answer[#answer + 1] = named and redis.call('HGET', items, id) or false end
end
answer[2] = table.concat(names, '\\n')
return answer
`);

/** ARGV  from, to. The first vector in that range, or nil. */
export const ANY_VECTOR: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
local named = redis.call('ZRANGEBYLEX', vids, ARGV[1], ARGV[2], 'LIMIT', 0, 1)[1]
return named and redis.call('HGET', vectors, named) or false
`);

/** ARGV  from, to, how many. Namespaces: from each to the next one, past all items in between. {the time, then the first id of each} */
export const WALK_NAMESPACES: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
local now = milliseconds()
local answer, from, tries = {}, ARGV[1], 0
while #answer < tonumber(ARGV[3]) and tries < 5000 do
  tries = tries + 1
  local id = redis.call('ZRANGEBYLEX', ids, from, ARGV[2], 'LIMIT', 0, 1)[1]
  if not id then return {'end', unpack(answer)} end
  if isLive(readItem(id), now) then
    local namespace = string.match(id, '^([^\\1]*)\\1')
    table.insert(answer, namespace)
    from = '[' .. namespace .. '\\2'
  else
    from = '(' .. id
  end
end
return {from, unpack(answer)}
`);

/** ARGV  from, to, how many, not newer than. {"end" or where to go on, how many were taken out} */
export const CLEAR_ITEMS: Script = script(`${NAMES}
local fault = forbidden() or outOfStep() or apart()
if fault then return fault end
local now, count, before = milliseconds(), 0, tonumber(ARGV[4])
local found = redis.call('ZRANGEBYLEX', ids, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
for _, id in ipairs(found) do
  local item = readItem(id)
  if item and item.updated <= before then
    if isLive(item, now) then count = count + 1 end
    takeOut(id, item)
  end
end
if #found > 0 then noteParts() end
if #found < tonumber(ARGV[3]) then return {'end', whole(count)} end
return {'(' .. found[#found], whole(count)}
`);

/** Begins to mend a store whose parts are apart: until it ends, all else is refused. Whatever can be made of the items goes. */
export const BEGIN_MENDING: Script = script(`${NAMES}
local denied = forbidden()
if denied then return denied end
redis.call('HSET', items, PARTS, '${MENDING}')
if redis.call('HLEN', writes) ~= redis.call('ZCARD', written) then redis.call('UNLINK', writes, written) end
redis.call('UNLINK', ids, vids, words, ends)
return 'begun'
`);

/** ARGV  ids of items. Enters them where items are looked for. {how many there are, how many of them have their vectors} */
export const MEND_ITEMS: Script = script(`${NAMES}
if redis.call('HGET', items, PARTS) ~= '${MENDING}' then return redis.error_reply('APART another one began to mend this') end
local there, near = 0, 0
for _, id in ipairs(ARGV) do
  local item = readItem(id)
  if item then
    there = there + 1
    redis.call('ZADD', ids, 0, id)
    eachWord(item.record, function (word, weight) redis.call('ZADD', words, 0, word .. '\\1' .. id .. '\\2' .. weight) end)
    if item.finish > 0 then redis.call('ZADD', ends, whole(item.finish), id) end
    local named = id .. '\\2' .. item.version
    if redis.call('HEXISTS', vectors, named) == 1 then
      near = near + 1
      redis.call('ZADD', vids, 0, named)
    end
  end
end
return {whole(there), whole(near)}
`);

/** ARGV  names of vectors. Takes out those that are no item's. */
export const MEND_VECTORS: Script = script(`${NAMES}
for _, named in ipairs(ARGV) do
  if not redis.call('ZSCORE', vids, named) then redis.call('HDEL', vectors, named) end
end
return 'ok'
`);

export const END_MENDING: Script = script(`${NAMES}
if redis.call('HGET', items, PARTS) ~= '${MENDING}' then return redis.error_reply('APART another one began to mend this') end
noteParts()
return 'ended'
`);

/** Takes out some items that have ended; says how many others end at all, "0" if none has ended by now. */
export const SWEEP_ENDED: Script = script(`${NAMES}
local fault = forbidden() or outOfStep() or apart()
if fault then return fault end
local now = milliseconds()
local function hasEnded() return redis.call('ZRANGEBYSCORE', ends, '-inf', whole(now), 'LIMIT', 0, 1)[1] end
if hasEnded() then
  takeOutEnded(now)
  noteParts()
end
return hasEnded() and whole(redis.call('ZCARD', ends)) or '0'
`);

const ASTRAY = `return redis.error_reply('APART something is kept that belongs to no item, or an item that no list shows')`;

/** ARGV  "items" or "vectors", then fields of it. Whether each of them is where it is looked for. */
export const VERIFY_FIELDS: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
for at = 2, #ARGV do
  local field = ARGV[at]
  if ARGV[1] == 'items' then
    if redis.call('HEXISTS', items, field) == 1 and not redis.call('ZSCORE', ids, field) then ${ASTRAY} end
  elseif redis.call('HEXISTS', vectors, field) == 1 then
    local id = string.match(field, '^([^\\2]*)')
    if not redis.call('ZSCORE', vids, field) or redis.call('HEXISTS', items, id) == 0 then ${ASTRAY} end
  end
end
return 'ok'
`);

/** ARGV  "ids", "vids" or "words", behind which member, how many. Whether each belongs to an item; the last one, or "" at the end. */
export const VERIFY_MEMBERS: Script = script(`${NAMES}
local fault = outOfStep() or apart()
if fault then return fault end
local part = ({ids = {ids, '^(.*)$'}, vids = {vids, '^([^\\2]*)'}, words = {words, '^[^\\1]*\\1(.*)\\2[^\\2]*$'}})[ARGV[1]]
local members = redis.call('ZRANGEBYLEX', part[1], ARGV[2] == '' and '-' or '(' .. ARGV[2], '+', 'LIMIT', 0, ARGV[3])
for _, member in ipairs(members) do
  if redis.call('HEXISTS', items, string.match(member, part[2])) == 0 then ${ASTRAY} end
end
return members[tonumber(ARGV[3])] or ''
`);
