import type { AppendRequest } from "../../../checkpoint/thread-log.ts";
import { encodeEntry, FORMAT } from "../layout.ts";
import type { Argument } from "../port.ts";
import { type Script, script } from "./script.ts";

/**
 * Nearly every append: one record, in a thread that exists, with a name that it has
 * not had yet. Two commands inside the script and few arguments outside, because
 * each of them costs a client about a microsecond.
 *
 * KEYS  threads, each once, on one server
 * ARGV  for each of them a line of numbers (below); their generations and entries; their bodies
 * Returns a digit for each: 1 appended, 0 nothing written. `APPEND` then does it, or says what is the matter.
 */
export const APPEND_PLAIN: Script = script(`
local function append(key, expected, generation, entry, body, lifetime)
  local base, head, name = string.match(entry, '^(%d+) (%d+) %d+\\n([^\\n]*)\\n')
  local found = redis.call('HMGET', key, 'thread', 'c:' .. name)
  local tail, first, there = string.match(found[1] or '', '^${FORMAT} (%d+) %d+ %d+ (%d+) (.*)$')
  if tail ~= expected or there ~= generation or found[2] then return 0 end
  if lifetime ~= '' and redis.acl_check_cmd and not redis.acl_check_cmd('pexpire', key, lifetime) then return 0 end
  local seq = tail + 1
  local line = '${FORMAT} ' .. seq .. ' ' .. base .. ' ' .. head .. ' ' .. first .. ' ' .. generation
  if name == '' then redis.call('HSET', key, 'thread', line, 'e:' .. seq, entry, 'b:' .. seq, body)
  else redis.call('HSET', key, 'thread', line, 'e:' .. seq, entry, 'b:' .. seq, body, 'c:' .. name, seq) end
  if lifetime ~= '' then redis.call('PEXPIRE', key, lifetime) end
  return 1
end

local texts, bodies, replies, place, text, body = ARGV[2], ARGV[3], {}, 1, 1, 1
for expected, generations, entries, bytes, lifetime in string.gmatch(ARGV[1], '(%d+) (%d+) (%d+) (%d+) (%d*)\\n') do
  local entry, after, last = text + generations, text + generations + entries, body + bytes
  -- A body that came alone may be large, and is not copied.
  local own = #KEYS == 1 and bodies or string.sub(bodies, body, last - 1)
  local done, reply = pcall(append, KEYS[place], expected, string.sub(texts, text, entry - 1),
    string.sub(texts, entry, after - 1), own, lifetime)
  replies[place] = done and reply or 0
  place, text, body = place + 1, after, last
end
return table.concat(replies)
`);

/** What the script takes: an append to a thread that exists, which adds one record without further names. */
export const isPlain = ({ expected, record, more, replace, drop, dropBelow }: AppendRequest): boolean =>
  expected > 0 &&
  record.names === undefined &&
  dropBelow === undefined &&
  (more === undefined || more.length === 0) &&
  (replace === undefined || replace.length === 0) &&
  (drop === undefined || drop.length === 0);

/** A line of numbers for each: the tail, the bytes of generation, entry and body, and how long the thread lives. */
export function plainArguments(
  requests: readonly AppendRequest[],
  lifetimeMs: number | undefined,
): readonly [numbers: Argument, texts: Argument, bodies: Argument] {
  let [numbers, texts] = ["", ""];
  for (const { generation, expected, record, ttlMs } of requests) {
    const entry = encodeEntry(record);
    // Redis takes whole milliseconds.
    const lives = ttlMs ?? lifetimeMs;
    const lengths = `${Buffer.byteLength(generation)} ${Buffer.byteLength(entry)} ${record.body.byteLength}`;
    numbers += `${expected} ${lengths} ${lives === undefined ? "" : Math.ceil(lives)}\n`;
    texts += generation + entry;
  }
  const [first, second] = requests;
  const { body } = first?.record ?? { body: new Uint8Array() };
  const isOne = second === undefined;
  const bodies = isOne
    ? Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    : Buffer.concat(requests.map(({ record }) => record.body));
  return [numbers, texts, bodies];
}
