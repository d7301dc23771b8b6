import type { AppendRequest } from "../../../checkpoint/log/thread-log.ts";
import { writeText } from "../../../internal/write-text.ts";
import { encodeEntry, FORMAT } from "../layout.ts";
import { type Script, script } from "./script.ts";

/**
 * Nearly every append: one record, in a thread that exists, with a name that it has
 * not had yet. Two commands inside the script and few arguments outside, because
 * each of them costs a client about a microsecond; and what the script would have to
 * find in a text, or to make a text of, comes as a text of its own.
 *
 * KEYS  threads, each once, on one server
 * ARGV  the appends, packed (below); for a single one its body, which is not in the pack then
 * Returns a digit for each: 1 appended, 0 nothing written. `APPEND` then does it, or says what is the matter.
 */
export const APPEND_PLAIN: Script = script(`
local call, match, unpack = redis.call, string.match, struct.unpack
local function append(key, tail, seq, places, origin, generation, write, name, lifetime, entry, body)
  local found = call('HMGET', key, 'thread', 'c:' .. name)
  local last, first, there = match(found[1] or '', '^${FORMAT} (%d+) %d+ %d+ (%d+) (.*)$')
  if last ~= tail or there ~= origin or found[2] then return 0 end
  if lifetime ~= '' and redis.acl_check_cmd and not redis.acl_check_cmd('pexpire', key, lifetime) then return 0 end
  local line = '${FORMAT} ' .. seq .. ' ' .. places .. ' ' .. first .. ' ' .. generation .. '\\n' .. write
  if name == '' then call('HSET', key, 'thread', line, 'e:' .. seq, entry, 'b:' .. seq, body)
  else call('HSET', key, 'thread', line, 'e:' .. seq, entry, 'b:' .. seq, body, 'c:' .. name, seq) end
  if lifetime ~= '' then call('PEXPIRE', key, lifetime) end
  return 1
end

local pack, own, replies, at = ARGV[1], ARGV[2], {}, 1
for place, key in ipairs(KEYS) do
  local tail, seq, places, origin, generation, write, name, lifetime, entry, body
  tail, seq, places, origin, generation, write, name, lifetime, entry, body, at = unpack('<${"I4c0".repeat(10)}', pack, at)
  local done, reply = pcall(append, key, tail, seq, places, origin, generation, write, name, lifetime, entry, own or body)
  replies[place] = done and reply or 0
end
return table.concat(replies)
`);

/** What the script takes: an append to a thread that exists, which adds one record without further names. */
export const isPlain = ({ expected, record, more, replace, drop, dropBelow }: AppendRequest): boolean =>
  expected.seq > 0 &&
  record.names === undefined &&
  dropBelow === undefined &&
  (more === undefined || more.length === 0) &&
  (replace === undefined || replace.length === 0) &&
  (drop === undefined || drop.length === 0);

/** The body of a single append may be large: it is copied neither here nor by the script. */
export function plainArguments(requests: readonly AppendRequest[], lifetimeMs: number | undefined): readonly Buffer[] {
  const [first, second] = requests;
  if (first === undefined || second !== undefined) return [packed(requests, lifetimeMs, true)];
  const { body } = first.record;
  return [packed(requests, lifetimeMs, false), Buffer.from(body.buffer, body.byteOffset, body.byteLength)];
}

/** Room for the numbers of one append, and for the ten lengths. */
const NUMBERS_BYTES = 128;
/** No character of UTF-16 becomes more bytes than this. */
const BYTES_PER_UNIT = 3;

/**
 * Ten texts for each append, with its length before each: the tail that it expects; its own position; base and
 * head; the generation and the write id of that tail, as the thread's line has them; the generation; its own write
 * id; the checkpoint id, or nothing; how long the thread lives, in milliseconds, or nothing; the entry; the body.
 */
function packed(requests: readonly AppendRequest[], lifetimeMs: number | undefined, withBodies: boolean): Buffer {
  const entries = requests.map(({ record }) => encodeEntry(record));
  let room = 0;
  for (const [place, { expected, record }] of requests.entries()) {
    const ids = 2 * expected.generation.length + expected.writeId.length + record.writeId.length;
    const units = ids + (record.checkpointId?.length ?? 0) + (entries[place]?.length ?? 0);
    room += NUMBERS_BYTES + units * BYTES_PER_UNIT + (withBodies ? record.body.byteLength : 0);
  }
  const pack = Buffer.allocUnsafe(room);
  let at = 0;
  for (const [place, { expected, record, ttlMs = lifetimeMs }] of requests.entries()) {
    const { seq, writeId, base, head, checkpointId = "", body } = record;
    at = put(pack, String(expected.seq), at);
    at = put(pack, String(seq), at);
    at = put(pack, `${base} ${head}`, at);
    at = put(pack, `${expected.generation}\n${expected.writeId}`, at);
    at = put(pack, expected.generation, at);
    at = put(pack, writeId, at);
    at = put(pack, checkpointId, at);
    // Redis takes whole milliseconds.
    at = put(pack, ttlMs === undefined ? "" : String(Math.ceil(ttlMs)), at);
    at = put(pack, entries[place] ?? "", at);
    at = pack.writeUInt32LE(withBodies ? body.byteLength : 0, at);
    if (!withBodies) continue;
    pack.set(body, at);
    at += body.byteLength;
  }
  return pack.subarray(0, at);
}

const LENGTH_BYTES = 4;

/** Returns where the next one begins. */
function put(pack: Buffer, text: string, at: number): number {
  const end = writeText(pack, text, at + LENGTH_BYTES);
  pack.writeUInt32LE(end - at - LENGTH_BYTES, at);
  return end;
}
