import { ANNOUNCED_BEFORE_MS, CLEAN_WITHIN_MS, CREATE_WITHIN_MS, KEEP_ANNOUNCED_MS } from "../layout.ts";
import { type Script, script } from "./script.ts";

/** KEYS  index of ids; ARGV  from, to (as ZRANGEBYLEX has them), how many. {the index's time, then ids} */
export const WALK: Script = script(`
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
table.insert(ids, 1, string.format('%.0f', milliseconds()))
return ids
`);

/** The clock that everybody shares: in a cluster, the one of the node that holds the index. */
export const NOW: Script = script(`
return string.format('%.0f', milliseconds())
`);

/** One server. KEYS  threads, and behind them the index of ids; ARGV  their ids. Takes out those that have no thread. */
export const FORGET: Script = script(`
for at, id in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[at]) == 0 then redis.call('ZREM', KEYS[#KEYS], id) end
end
return 'ok'
`);

/** Cluster. KEYS  index of ids, the announced; ARGV  id. Says until when a thread of that id may be created. */
export const ANNOUNCE: Script = script(`
local now = milliseconds()
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('ZADD', KEYS[1], 0, ARGV[1])
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
