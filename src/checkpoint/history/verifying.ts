import { type ErrorCode, reasonOf, StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogChain, LogRecord } from "../log/thread-log.ts";
import { codecOf } from "../record/codec.ts";
import { openHeader, openRecord } from "../record/record.ts";

/** A record that differs from what was written, or that is missing. */
export interface RecordFault {
  readonly seq: number;
  readonly code: ErrorCode;
  readonly message: string;
}

/** The result of reading all records of a thread. */
export interface ThreadVerdict {
  readonly threadId: string;
  /** How many were read. */
  readonly records: number;
  /** Oldest first. Empty if every checkpoint can be loaded. */
  readonly faults: readonly RecordFault[];
  /** Checkpoints that cannot be loaded because of them, oldest first. */
  readonly lost: readonly string[];
}

/** What is kept of a record after its body was read. */
interface Link {
  readonly seq: number;
  readonly isBase: boolean;
  /** `undefined` if it builds on whatever came before, as in a graph's thread. */
  readonly buildsOn: number | undefined;
  readonly checkpointId: string | undefined;
  readonly fault: RecordFault | undefined;
}

/** How many are read at once: each may be large, and only a few numbers are kept of each. */
const PAGE = 100;

/**
 * Reads every record from the newest to the oldest and compares it with its
 * checksum, then checks that each finds what it builds on. Holds at most one page
 * of bodies.
 */
export async function verifyThread(context: CheckpointContext, threadId: string): Promise<ThreadVerdict | undefined> {
  const links: Link[] = [];
  const faults: RecordFault[] = [];
  let records = 0;
  let before: number | undefined;
  for (;;) {
    const page = await readPage(context, threadId, before);
    if ("seq" in page) {
      // The storage itself reports damage and cannot read past it.
      faults.push(page);
      break;
    }
    // The thread was deleted in the meantime.
    if (page.chain === undefined) return undefined;
    const [oldest] = page.chain.records;
    if (oldest === undefined) break;
    for (const record of page.chain.records.toReversed()) {
      records++;
      const link = linkOf(record);
      if (link?.fault !== undefined) faults.push(link.fault);
      if (link !== undefined) links.push(link);
    }
    before = oldest.seq;
  }
  const lost = lostIn(links.reverse(), faults);
  return { threadId, records, faults: faults.toSorted((a, b) => a.seq - b.seq), lost };
}

async function readPage(
  context: CheckpointContext,
  threadId: string,
  before: number | undefined,
): Promise<{ readonly chain: LogChain | undefined } | RecordFault> {
  const query = { limit: PAGE, ...(before !== undefined && { before }) };
  try {
    return { chain: await context.call({ operation: "verify", threadId }, (log) => log.readRecords(threadId, query)) };
  } catch (error) {
    if (!StateError.is(error, "CORRUPT")) throw error;
    return { seq: (before ?? 1) - 1, code: error.code, message: error.message };
  }
}

/** `undefined` for an intact record that no state is made of. */
function linkOf(record: LogRecord): Link | undefined {
  const { seq, checkpointId } = record;
  try {
    const header = openRecord(record);
    const { kind, thread } = header;
    if (kind !== "base" && kind !== "delta") return undefined;
    const buildsOn = codecOf(thread).verify(record, header);
    return { seq, isBase: kind === "base", buildsOn, checkpointId, fault: undefined };
  } catch (error) {
    const code = StateError.is(error) ? error.code : "CORRUPT";
    const fault = { seq, code, message: reasonOf(error) };
    return { seq, ...lastKnown(record), checkpointId, fault };
  }
}

/** The kind of a damaged record, if its header is still readable. */
function lastKnown(record: LogRecord): Pick<Link, "isBase" | "buildsOn"> {
  try {
    const { kind, buildsOn } = openHeader(record);
    return { isBase: kind === "base", buildsOn };
  } catch {
    return { isBase: false, buildsOn: record.seq - 1 };
  }
}

/** Ascending: states are lost from a damaged or missing record up to the next base. */
function lostIn(links: readonly Link[], faults: RecordFault[]): readonly string[] {
  const lost: string[] = [];
  /** Whether the state as of each record can be rebuilt, by position. */
  const wholes = new Map<number, boolean>();
  let before = 0;
  for (const { seq, isBase, buildsOn = before, checkpointId, fault } of links) {
    const isGap = fault === undefined && !isBase && !wholes.has(buildsOn);
    if (isGap) {
      faults.push({ seq, code: "CORRUPT", message: `record ${seq} builds on record ${buildsOn}, which is missing` });
    }
    const isWhole = fault === undefined && (isBase || wholes.get(buildsOn) === true);
    wholes.set(seq, isWhole);
    before = seq;
    if (!isWhole && checkpointId !== undefined) lost.push(checkpointId);
  }
  return lost;
}
