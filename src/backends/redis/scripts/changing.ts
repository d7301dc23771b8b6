import { type Script, script } from "./script.ts";
import { ENTER_ID } from "./thread-index.ts";

/**
 * KEYS  the thread, and the index of ids where both are on one server
 * ARGV  thread id, and the generation, position and write id that must be its tail's, if any
 * Returns "removed", "absent" or "moved".
 */
export const REMOVE: Script = script(`
local thread, fault = readThread(KEYS[1])
if fault then return fault end
if thread and ARGV[2] and (thread.generation ~= ARGV[2] or thread.tail ~= tonumber(ARGV[3]) or thread.write ~= ARGV[4]) then
  return 'moved'
end
local fault = not thread and outOfStep()
if fault then return fault end
if KEYS[2] then redis.call('ZREM', KEYS[2], ARGV[1]) end
if not thread then return 'absent' end
redis.call('UNLINK', KEYS[1])
return 'removed'
`);

/**
 * KEYS  source, target, index of ids: all on one server
 * ARGV  target's id, its generation
 * Returns "copied", "no source" or "target exists".
 */
export const COPY: Script = script(`${ENTER_ID}
local source, fault = readThread(KEYS[1])
if fault then return fault end
if not source then return outOfStep() or 'no source' end
local target, damage = readThread(KEYS[2])
if damage then return damage end
if target then return 'target exists' end
enterId(KEYS[3], ARGV[1], true)
redis.call('COPY', KEYS[1], KEYS[2])
source.generation = ARGV[2]
redis.call('HSET', KEYS[2], 'thread', threadLine(source))
return 'copied'
`);

/** {the thread as DUMP returns it, its remaining time in ms or "0" for no expiry}, or nil: for a copy to another node. */
export const EXPORT: Script = script(`
local thread, fault = readThread(KEYS[1])
if fault then return fault end
if not thread then return outOfStep() or false end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then left = 0 else left = math.max(left, 1) end
return {redis.call('DUMP', KEYS[1]), string.format('%.0f', left)}
`);

/**
 * ARGV  what EXPORT gave, the generation, until when the announcement lets this create. How long the copy has left counts
 * by its own node's clock. Returns "copied", "target exists" or "late".
 */
export const IMPORT: Script = script(`
local target, fault = readThread(KEYS[1])
if fault then return fault end
if target then return 'target exists' end
if milliseconds() > tonumber(ARGV[4]) then return 'late' end
redis.call('RESTORE', KEYS[1], ARGV[2], ARGV[1])
local copy = readThread(KEYS[1])
if copy then
  copy.generation = ARGV[3]
  redis.call('HSET', KEYS[1], 'thread', threadLine(copy))
end
return 'copied'
`);
