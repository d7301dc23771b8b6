import type { AppendRequest, LogRecord } from "../../../checkpoint/thread-log.ts";
import { encodeEntry } from "../layout.ts";
import type { Argument } from "../port.ts";
import { type Script, script } from "./script.ts";
import { ENTER_ID } from "./thread-index.ts";

/**
 * KEYS  the thread, and the index of ids when this creates the thread and both are on one server
 * Says {"appended"}; {"late"} when the announcement is too old to create; {"invalid", why}; else {"refused"} for no thread, or
 * {"refused", generation, tail, entry of the tail, entry of the occupant or nil}.
 */
export const APPEND: Script = script(`${ENTER_ID}
local key, generation, expected = KEYS[1], ARGV[1], tonumber(ARGV[2])
local thread, fault = readThread(key)
if fault then return fault end

if not thread and expected ~= 0 then return outOfStep() or {'refused'} end
if thread and (thread.tail ~= expected or thread.generation ~= generation) then
  local occupant = false
  if thread.generation == generation then occupant = redis.call('HGET', key, 'e:' .. (expected + 1)) end
  return {'refused', thread.generation, tostring(thread.tail), redis.call('HGET', key, 'e:' .. thread.tail), occupant}
end

local entry, body, base, head, checkpoint = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local threadId, createBefore, lifetime = ARGV[8], ARGV[9], ARGV[10]
local dropBelow, replaced = tonumber(ARGV[11]), tonumber(ARGV[12])
local firstReplacement = 13
local firstDrop = firstReplacement + replaced * 4
if not thread and createBefore ~= '' and milliseconds() > tonumber(createBefore) then return {'late'} end

-- A right that is missing must be found out before the first write: a script that fails is not undone.
local function mustBeAllowed(...)
  if redis.acl_check_cmd and not redis.acl_check_cmd(...) then
    return redis.error_reply('NOPERM this user may not run ' .. ({...})[1])
  end
end
local forbidden
if replaced > 0 or dropBelow > 0 or #ARGV >= firstDrop then forbidden = mustBeAllowed('hdel', key, '-') end
if lifetime ~= '' then forbidden = forbidden or mustBeAllowed('pexpire', key, lifetime) end
if forbidden then return forbidden end

local seq = expected + 1
local first = thread and thread.first or seq
local keepFrom = math.max(first, math.min(dropBelow, seq))

local leaving = {}
for at = firstDrop, #ARGV do leaving[ARGV[at]] = true end
for at = firstReplacement, firstDrop - 1, 4 do
  local position = ARGV[at]
  if not redis.call('HGET', key, 'e:' .. position) then
    return {'invalid', 'replace names position ' .. position .. ', where no record is'}
  end
  leaving[position] = true
end
local carried = {}
local function takes(id)
  local position = id ~= '' and redis.call('HGET', key, 'c:' .. id)
  local isTaken = position and not leaving[position] and tonumber(position) >= keepFrom
  if carried[id] or isTaken then return {'invalid', 'another record of the thread carries the checkpoint id ' .. id} end
  if id ~= '' then carried[id] = true end
end
local twice = takes(checkpoint)
for at = firstReplacement, firstDrop - 1, 4 do twice = twice or takes(ARGV[at + 3]) end
if twice then return twice end

-- The first write is one that a full server refuses.
if KEYS[2] then enterId(KEYS[2], threadId, true) end
local line = threadLine({tail = seq, base = base, head = head, first = keepFrom, generation = generation})
if checkpoint == '' then
  redis.call('HSET', key, 'thread', line, 'e:' .. seq, entry, 'b:' .. seq, body)
else
  redis.call('HSET', key, 'thread', line, 'e:' .. seq, entry, 'b:' .. seq, body, 'c:' .. checkpoint, seq)
end

local function forgetCheckpoint(position, text)
  local id = text and string.match(text, '^[^\\n]*\\n([^\\n]*)')
  if id and id ~= '' and redis.call('HGET', key, 'c:' .. id) == tostring(position) then
    redis.call('HDEL', key, 'c:' .. id)
  end
end
local function drop(position)
  forgetCheckpoint(position, redis.call('HGET', key, 'e:' .. position))
  redis.call('HDEL', key, 'e:' .. position, 'b:' .. position)
end

for at = firstReplacement, firstDrop - 1, 4 do
  local position, id = ARGV[at], ARGV[at + 3]
  forgetCheckpoint(position, redis.call('HGET', key, 'e:' .. position))
  redis.call('HSET', key, 'e:' .. position, ARGV[at + 1], 'b:' .. position, ARGV[at + 2])
  if id ~= '' then redis.call('HSET', key, 'c:' .. id, position) end
end
for at = firstDrop, #ARGV do drop(ARGV[at]) end
for position = first, keepFrom - 1 do drop(position) end

if lifetime ~= '' then redis.call('PEXPIRE', key, lifetime) end
return {'appended'}
`);

export interface AppendTerms {
  readonly threadId: string;
  /** In a cluster: until when, by the servers' clocks, the announcement lets this create. */
  readonly createBefore: number | undefined;
  /** How long the thread lives after this append, unless the request says how long. */
  readonly lifetimeMs: number | undefined;
}

export function appendArguments(request: AppendRequest, terms: AppendTerms): readonly Argument[] {
  const { generation, expected, record, replace = [], drop = [], dropBelow = 0, ttlMs } = request;
  const { threadId, createBefore = "", lifetimeMs = "" } = terms;
  return [
    generation,
    String(expected),
    encodeEntry(record),
    bytesOf(record),
    String(record.base),
    String(record.head),
    record.checkpointId ?? "",
    threadId,
    String(createBefore),
    // Redis takes whole milliseconds.
    ttlMs === undefined ? String(lifetimeMs) : String(Math.ceil(ttlMs)),
    String(dropBelow),
    String(replace.length),
    ...replace.flatMap((other) => [String(other.seq), encodeEntry(other), bytesOf(other), other.checkpointId ?? ""]),
    ...drop.map(String),
  ];
}

const bytesOf = ({ body }: LogRecord): Buffer => Buffer.from(body.buffer, body.byteOffset, body.byteLength);
