import { ANNOUNCED_BEFORE_MS, CLEAN_WITHIN_MS, COMPLETE, CREATE_WITHIN_MS, KEEP_ANNOUNCED_MS } from "../layout.ts";
import { type Script, script } from "./script.ts";

/** How an id gets into the index; see layout.ts for the mark, which is the score of all members. */
export const ENTER_ID: string = `
local function markOf(index)
  return redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2]
end
local function newMark()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000000 + time[2])
end
local function enterId(index, id, isOnlyServer)
  local mark = markOf(index)
  -- Where there is no key at all, there is no thread that the new index could lack.
  if not mark and isOnlyServer and redis.pcall('DBSIZE') == 0 then mark = '${COMPLETE}' end
  redis.call('ZADD', index, mark or newMark(), id)
end
-- A full server refuses nothing behind a script's first write. To find what may go, threads are listed first.
local function allowFull(index)
  if not redis.acl_check_cmd or redis.acl_check_cmd('zrem', index, '') then redis.call('ZREM', index, '') end
end
`;

/** KEYS  index of ids; ARGV  from, to (as ZRANGEBYLEX has them), how many. {the index's time, its mark or "", then ids} */
export const WALK: Script = script(`${ENTER_ID}
local fault = outOfStep()
if fault then return fault end
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
table.insert(ids, 1, markOf(KEYS[1]) or '')
table.insert(ids, 1, string.format('%.0f', milliseconds()))
return ids
`);

/**
 * KEYS  index of ids; ARGV  the mark that it must have ("" for no index), ids that were found. Returns the mark that it has
 * then; "lost" when it is not the one that was being mended.
 */
export const ENTER_FOUND: Script = script(`${ENTER_ID}
local mark = markOf(KEYS[1])
if (mark or '') ~= ARGV[1] then return 'lost' end
mark = mark or newMark()
allowFull(KEYS[1])
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], mark, ARGV[at]) end
return mark
`);

/** KEYS  index of ids; ARGV  the mark that it must have. Marks the index as complete. Returns "complete" or "lost". */
export const COMPLETE_INDEX: Script = script(`${ENTER_ID}
if markOf(KEYS[1]) ~= ARGV[1] then return 'lost' end
allowFull(KEYS[1])
redis.call('ZUNIONSTORE', KEYS[1], 1, KEYS[1], 'WEIGHTS', 0)
return 'complete'
`);

/** The shared clock: in a cluster, that of the node that holds the index. */
export const NOW: Script = script(`
return string.format('%.0f', milliseconds())
`);

/** One server. KEYS  threads, then the index of ids; ARGV  their ids. Removes the ids that have no thread. */
export const FORGET: Script = script(`
for at, id in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[at]) == 0 then redis.call('ZREM', KEYS[#KEYS], id) end
end
return 'ok'
`);

/** Cluster. KEYS  index of ids, the announced; ARGV  id. Returns until when a thread of that id may be created. */
export const ANNOUNCE: Script = script(`${ENTER_ID}
local now = milliseconds()
redis.call('ZADD', KEYS[2], now, ARGV[1])
enterId(KEYS[1], ARGV[1], false)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ${KEEP_ANNOUNCED_MS}, 'LIMIT', 0, 10)) do
  redis.call('ZREM', KEYS[2], old)
end
return string.format('%.0f', now + ${CREATE_WITHIN_MS})
`);

/** Cluster. KEYS  index of ids, the announced; ARGV  id, the index's time before its thread was found absent. */
export const FORGET_ABSENT: Script = script(`
local seenAt = tonumber(ARGV[2])
if milliseconds() - seenAt > ${CLEAN_WITHIN_MS} then return 'kept' end
local announced = redis.call('ZSCORE', KEYS[2], ARGV[1])
if announced and tonumber(announced) > seenAt - ${ANNOUNCED_BEFORE_MS} then return 'kept' end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 'forgotten'
`);
