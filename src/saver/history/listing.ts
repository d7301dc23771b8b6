import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { openHeader, type RecordHeader } from "../../checkpoint/record/record.ts";
import { canonicalJson } from "../../state/values/codec.ts";
import type { CheckpointInfo, ListRequest, SavedCheckpoint } from "../saver.ts";
import { Epoch } from "../thread/epoch.ts";
import { placeOf } from "../thread/graph-record.ts";
import type { ThreadWriter } from "../thread/graph-threads.ts";
import { type FoundCheckpoint, foundIn, infoOf, valuesOf } from "../thread/reading.ts";
import { Unpacker, type UnpackOptions } from "../values/unpacking.ts";

/** A checkpoint of a list, and where its record lies. */
export interface ListedEntry extends CheckpointInfo {
  readonly seq: number;
  readonly base: number;
}

const PAGE = 500;

/** The checkpoints of one thread that pass, the greatest id first. Reads headers and no bodies. */
export async function listThread(
  context: CheckpointContext,
  threadId: string,
  request: ListRequest,
  bases: Set<number> = new Set(),
): Promise<readonly ListedEntry[]> {
  const { limit = Number.POSITIVE_INFINITY } = request;
  const passes = tester(request);
  const met = new Set<string>();
  const found: ListedEntry[] = [];
  let before: number | undefined;
  while (limit > 0) {
    const query = { limit: PAGE, ...(before !== undefined && { before }) };
    const entries = await context.call({ operation: "listCheckpoints", threadId }, (log) => log.list(threadId, query));
    for (const entry of entries) {
      const header = openHeader(entry);
      const listed = listedOf(threadId, entry, header);
      bases.add(entry.base);
      if (listed === undefined || met.has(entry.checkpointId ?? "")) continue;
      met.add(entry.checkpointId ?? "");
      if (passes(listed)) found.push(listed);
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < PAGE || isEnough(found, limit, last)) break;
    before = last.seq;
  }
  return found.sort(newestFirst).slice(0, limit);
}

function listedOf(threadId: string, entry: LogEntry, header: RecordHeader): ListedEntry | undefined {
  const place = placeOf(entry, header);
  if (place === undefined) return undefined;
  const { metadata, seq, base } = entry;
  const info = infoOf(threadId, { ...place, parentId: header.graph?.parent, metadata, createdAt: header.createdAt });
  return { ...info, seq, base };
}

/** Whether no older record can have an id that belongs into the list: each knows the greatest up to it. */
function isEnough(found: readonly ListedEntry[], limit: number, last: LogEntry): boolean {
  if (found.length < limit) return false;
  const least = [...found].sort(newestFirst)[limit - 1]?.checkpointId ?? "";
  const header = openHeader(last);
  const greatest = header.graph?.greatest ?? placeOf(last, header)?.id;
  return greatest !== undefined && greatest <= least;
}

function tester({ checkpointNs, checkpointId, before, filter = {} }: ListRequest): (info: CheckpointInfo) => boolean {
  const wanted = Object.entries(filter).map(([key, value]) => [key, canonicalJson(value)] as const);
  return (info) => {
    if (checkpointNs !== undefined && info.checkpointNs !== checkpointNs) return false;
    if (checkpointId !== undefined && info.checkpointId !== checkpointId) return false;
    if (before !== undefined && info.checkpointId >= before) return false;
    const { metadata } = info;
    return wanted.every(([key, text]) => Object.hasOwn(metadata, key) && canonicalJson(metadata[key]) === text);
  };
}

export function newestFirst(a: CheckpointInfo, b: CheckpointInfo): number {
  if (a.checkpointId !== b.checkpointId) return a.checkpointId > b.checkpointId ? -1 : 1;
  return a.checkpointNs < b.checkpointNs ? -1 : 1;
}

/** Reads the values of a list's checkpoints: each epoch once, each element once. */
export class ListReader {
  readonly #context: CheckpointContext;
  readonly #writer: ThreadWriter;
  readonly #threadId: string;
  readonly #options: UnpackOptions;
  /** Where epochs begin, as far as the list saw them. */
  readonly #bases: ReadonlySet<number>;
  readonly #epochs = new Map<number, Promise<Epoch | undefined>>();
  readonly #unpackers = new Map<Epoch, Unpacker>();

  constructor(
    context: CheckpointContext,
    writer: ThreadWriter,
    threadId: string,
    bases: ReadonlySet<number>,
    options: UnpackOptions,
  ) {
    this.#context = context;
    this.#writer = writer;
    this.#threadId = threadId;
    this.#bases = bases;
    this.#options = options;
  }

  async load(entry: ListedEntry): Promise<SavedCheckpoint | undefined> {
    const found = await this.find(entry);
    if (found === undefined) return undefined;
    const unpacker =
      this.#unpackers.get(found.epoch) ?? new Unpacker(found.epoch.pool, { ...this.#options, share: true });
    this.#unpackers.set(found.epoch, unpacker);
    const { seq, base: _, ...info } = entry;
    // It may have been put again since it was listed.
    const current = found.known.seq === seq ? info : infoOf(this.#threadId, found.known);
    return { ...current, ...(await valuesOf(found, unpacker)) };
  }

  async find({ checkpointNs: ns, checkpointId: id, base }: ListedEntry): Promise<FoundCheckpoint | undefined> {
    const reading = this.#epochs.get(base) ?? this.#read(base);
    this.#epochs.set(base, reading);
    const epoch = await reading;
    return epoch && foundIn(epoch, { ns, id });
  }

  async #read(base: number): Promise<Epoch | undefined> {
    const newest = Math.max(...this.#bases);
    if (base === newest) {
      const epoch = await this.#writer.alone(() => this.#writer.fresh());
      if (epoch === undefined || epoch.base === base) return epoch;
    }
    return epochFrom(this.#context, this.#threadId, base, Math.min(...[...this.#bases].filter((each) => each > base)));
  }
}

/** The records from `base` up to just below `end`, as an epoch. */
async function epochFrom(
  context: CheckpointContext,
  threadId: string,
  base: number,
  end: number,
): Promise<Epoch | undefined> {
  const pages: (readonly LogRecord[])[] = [];
  let generation: string | undefined;
  let before = end;
  while (before > base) {
    const query = { limit: PAGE, ...(Number.isFinite(before) && { before }) };
    const chain = await context.call({ operation: "listCheckpoints", threadId }, (log) =>
      log.readRecords(threadId, query),
    );
    const first = chain?.records[0];
    if (chain === undefined || first === undefined) break;
    generation = chain.generation;
    pages.unshift(chain.records.filter((record) => record.base === base));
    before = first.seq;
  }
  if (generation === undefined) return undefined;
  const epoch = new Epoch(generation);
  for (const record of pages.flat()) epoch.take(record);
  return epoch;
}
