import { createHash } from "node:crypto";
import { FORMAT } from "../layout.ts";

/** A Lua script: it runs atomically, in one round trip. */
export interface Script {
  readonly source: string;
  /** The hash by which a server finds a script that it has run before. */
  readonly sha: string;
}

/**
 * Obligations of every script. It checks everything that can refuse before it
 * writes: an error in the middle would leave the first half written. It names every
 * key in KEYS. Its cost grows with what is new or asked for, never with the length
 * of the thread.
 */
export function script(body: string): Script {
  const source = `${SHARED}${body}`;
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}

const SHARED = `
local function readThread(key)
  local line = redis.call('HGET', key, 'thread')
  if not line then
    if redis.call('EXISTS', key) == 0 then return nil end
    return nil, redis.error_reply('NOTHREAD ' .. key)
  end
  local format, rest = string.match(line, '^(%d+) (.*)$')
  if format ~= '${FORMAT}' then return nil, redis.error_reply('OTHERFORMAT ' .. key .. ' ' .. (format or '?')) end
  local tail, base, head, first, generation, write = string.match(rest, '^(%d+) (%d+) (%d+) (%d+) (.*)\\n([^\\n]*)$')
  if not tail then return nil, redis.error_reply('NOTHREAD ' .. key) end
  return {
    tail = tonumber(tail), base = tonumber(base), head = tonumber(head), first = tonumber(first),
    generation = generation, write = write,
  }
end

local function threadLine(thread)
  local line = {'${FORMAT}', thread.tail, thread.base, thread.head, thread.first, thread.generation .. '\\n' .. thread.write}
  return table.concat(line, ' ')
end

-- The write id of a record, from its entry.
local function writeOf(entry)
  local checkpoint, write = string.match(entry, '^[^\\n]*\\n([^\\n]*)\\n([^\\n]*)\\n')
  if write == '' then return checkpoint end
  return write
end

local function milliseconds()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A replica that has not received everything yet must not say of anything that it is absent.
local function outOfStep()
  local told = redis.pcall('INFO', 'replication')
  if type(told) ~= 'string' or not string.find(told, 'role:slave', 1, true) then return nil end
  if string.find(told, 'master_link_status:up', 1, true) then return nil end
  return redis.error_reply('MASTERDOWN this replica is not in step with its primary')
end
`;
