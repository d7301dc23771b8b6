import { namesOf, recordsIn } from "../../../checkpoint/log/driver-rules.ts";
import type { AppendRequest, LogRecord } from "../../../checkpoint/log/thread-log.ts";
import { BOOKKEEPING_BYTES, isBookkeeping } from "../bookkeeping.ts";
import { encodeEntry } from "../layout.ts";
import type { Argument } from "../port.ts";
import { type Script, script } from "./script.ts";
import { ENTER_ID } from "./thread-index.ts";

/**
 * c:<name> holds the newest record of a name. n:<position of a record>\n<name> holds
 * the one before it with that name. Positions below the thread's first are gone, so
 * a link to one leads nowhere, and removing the oldest records needs no repair of
 * links.
 */
const NAMING = `
local function before(name, position)
  local older = redis.call('HGET', key, 'n:' .. position .. '\\n' .. name)
  if older and tonumber(older) >= keepFrom then return older end
end
local function setBefore(name, position, older)
  if older then redis.call('HSET', key, 'n:' .. position .. '\\n' .. name, older)
  else redis.call('HDEL', key, 'n:' .. position .. '\\n' .. name) end
end
-- The record with that name that comes right after the position, and the one it leads to; nothing when all are older.
local function around(name, position)
  local newer, older = nil, redis.call('HGET', key, 'c:' .. name)
  while older and tonumber(older) > position do newer, older = older, before(name, older) end
  if older and tonumber(older) < keepFrom then older = nil end
  return newer, older
end
local function link(name, position)
  local newer, older = around(name, position)
  if older then setBefore(name, position, older) end
  if newer then setBefore(name, newer, position) else redis.call('HSET', key, 'c:' .. name, position) end
end
local function unlink(name, position)
  local newer, found = around(name, position)
  if not found or tonumber(found) ~= position then
    if not newer then redis.call('HDEL', key, 'c:' .. name) end
    return redis.call('HDEL', key, 'n:' .. position .. '\\n' .. name)
  end
  local older = before(name, position)
  setBefore(name, position, nil)
  if newer then setBefore(name, newer, older)
  elseif older then redis.call('HSET', key, 'c:' .. name, older)
  else redis.call('HDEL', key, 'c:' .. name) end
end
local function unname(position)
  local entry = redis.call('HGET', key, 'e:' .. position)
  if not entry then return end
  local count, checkpoint, rest = string.match(entry, '^%d+ %d+ %d+ ?(%d*)\\n([^\\n]*)\\n[^\\n]*\\n(.*)$')
  if checkpoint and checkpoint ~= '' then unlink(checkpoint, position) end
  for name in string.gmatch(rest or '', '([^\\n]*)\\n') do
    if (tonumber(count) or 0) <= 0 then break end
    count = count - 1
    unlink(name, position)
  end
end
local function drop(position)
  unname(position)
  redis.call('HDEL', key, 'e:' .. position, 'b:' .. position)
end`;

const APPENDING = `
local key, generation, expected = KEYS[1], ARGV[1], tonumber(ARGV[2])
local thread, fault = readThread(key)
if fault then return fault end

local expectedWrite, write = ARGV[11], ARGV[12]
if not thread and expected ~= 0 then return outOfStep() or {'refused'} end
if thread and (thread.tail ~= expected or thread.generation ~= generation or thread.write ~= expectedWrite) then
  local occupant = false
  if thread.generation == generation then occupant = redis.call('HGET', key, 'e:' .. (expected + 1)) end
  return {'refused', thread.generation, tostring(thread.tail), redis.call('HGET', key, 'e:' .. thread.tail), occupant}
end

local base, head, threadId, createBefore, lifetime = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local dropBelow, added, replaced = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
if not thread and createBefore ~= '' and milliseconds() > tonumber(createBefore) then return {'late'} end

-- Of each record its position, entry and body, how many names it has, and the names.
local records, at = {}, 14
for index = 1, added + replaced do
  local record = {position = tonumber(ARGV[at]), entry = ARGV[at + 1], body = ARGV[at + 2], names = {}}
  local names = tonumber(ARGV[at + 3])
  for name = 1, names do record.names[name] = ARGV[at + 3 + name] end
  records[index] = record
  at = at + 4 + names
end
local firstDrop = at

-- A right that is missing must be found out before the first write: a script that fails is not undone.
local function mustBeAllowed(...)
  if redis.acl_check_cmd and not redis.acl_check_cmd(...) then
    return redis.error_reply('NOPERM this user may not run ' .. ({...})[1])
  end
end
local forbidden
if replaced > 0 or dropBelow > 0 or #ARGV >= firstDrop then
  forbidden = mustBeAllowed('hdel', key, '-') or mustBeAllowed('hstrlen', key, '-')
end
if lifetime ~= '' then forbidden = forbidden or mustBeAllowed('pexpire', key, lifetime) end
if forbidden then return forbidden end

local seq = expected + 1
local first = thread and thread.first or seq
local keepFrom = math.max(first, math.min(dropBelow, seq))
-- How much larger it may make the thread on a full server: a record without a state, such as the one that says what an
-- append took out. A save is no such record, whatever it takes out on its way.
local room = tonumber(ARGV[13])
local mayExceed = alone and room > 0
for index = added + 1, added + replaced do
  local position = records[index].position
  if not redis.call('HGET', key, 'e:' .. position) then
    return {'invalid', 'replace names position ' .. position .. ', where no record is'}
  end
end

-- How many bytes less the thread has afterwards, counted until it is clear that there are not more.
local freed, isCounted = room, mayExceed
for _, record in ipairs(records) do freed = freed - #record.entry - #record.body end
local function countFreed(position)
  if freed >= 0 then isCounted = false end
  if not isCounted then return end
  freed = freed + redis.call('HSTRLEN', key, 'e:' .. position) + redis.call('HSTRLEN', key, 'b:' .. position)
end
for index = added + 1, added + replaced do countFreed(records[index].position) end
for at = firstDrop, #ARGV do countFreed(tonumber(ARGV[at])) end
for position = first, keepFrom - 1 do countFreed(position) end

-- A full server refuses a script whose first write may need memory, and nothing behind its first write.
if mayExceed and freed >= 0 and not mustBeAllowed('hdel', key, '-') then redis.call('HDEL', key, '-') end
if KEYS[2] then enterId(KEYS[2], threadId, true) end
redis.call('HSET', key, 'thread',
  threadLine({tail = expected + added, base = base, head = head, first = keepFrom, generation = generation, write = write}))
${NAMING}
for position = first, keepFrom - 1 do drop(position) end
for at = firstDrop, #ARGV do drop(tonumber(ARGV[at])) end
for index = added + 1, added + replaced do unname(records[index].position) end
for _, record in ipairs(records) do
  redis.call('HSET', key, 'e:' .. record.position, record.entry, 'b:' .. record.position, record.body)
  for _, name in ipairs(record.names) do link(name, record.position) end
end

if lifetime ~= '' then redis.call('PEXPIRE', key, lifetime) end
return {'appended'}
`;

/**
 * KEYS  the thread, and the index of ids if this creates the thread and both are on one server
 * Returns {"appended"}; {"late"} if the announcement is too old to create; {"invalid", why}; else {"refused"} for no thread, or
 * {"refused", generation, tail, entry of the tail, entry of the occupant or nil}.
 */
export const APPEND: Script = script(`${ENTER_ID}
local alone = true${APPENDING}`);

/**
 * KEYS  threads that exist, each once, on one server
 * ARGV  for each of them how many arguments it has, and these, as of `APPEND`
 * Returns for each what `APPEND` would return; {"failed"} where that is an error: a repeated single call gets the
 * reason.
 */
export const APPEND_MANY: Script = script(`${ENTER_ID}
-- What one of them may write on a full server, those behind it could too: each that was refused goes alone.
local alone = false
local function append(KEYS, ARGV)${APPENDING}end
local replies, at = {}, 1
for index, key in ipairs(KEYS) do
  local own, count = {}, tonumber(ARGV[at])
  for number = 1, count do own[number] = ARGV[at + number] end
  at = at + 1 + count
  local done, reply = pcall(append, {key}, own)
  replies[index] = done and not reply.err and reply or {'failed'}
end
return replies
`);

export interface AppendTerms {
  readonly threadId: string;
  /** In a cluster: until when, by the servers' clocks, the announcement allows creating the thread. */
  readonly createBefore: number | undefined;
  /** How long the thread lives after this append, unless the request has its own limit. */
  readonly lifetimeMs: number | undefined;
}

export function appendArguments(request: AppendRequest, terms: AppendTerms): readonly Argument[] {
  const { expected, replace = [], drop = [], dropBelow = 0, ttlMs } = request;
  const { threadId, createBefore = "", lifetimeMs = "" } = terms;
  const added = recordsIn(request);
  const { base, head, writeId } = added.at(-1) ?? request.record;
  return [
    expected.generation,
    String(expected.seq),
    String(base),
    String(head),
    threadId,
    String(createBefore),
    // Redis takes whole milliseconds.
    ttlMs === undefined ? String(lifetimeMs) : String(Math.ceil(ttlMs)),
    String(dropBelow),
    String(added.length),
    String(replace.length),
    expected.writeId,
    writeId,
    String(isBookkeeping(threadId, request) ? BOOKKEEPING_BYTES : 0),
    ...[...added, ...replace].flatMap(recordArguments),
    ...drop.map(String),
  ];
}

function recordArguments(record: LogRecord): readonly Argument[] {
  const names = namesOf(record);
  return [String(record.seq), encodeEntry(record), bytesOf(record), String(names.length), ...names];
}

const bytesOf = ({ body }: LogRecord): Buffer => Buffer.from(body.buffer, body.byteOffset, body.byteLength);
