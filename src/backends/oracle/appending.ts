import { recordsIn } from "../../checkpoint/log/driver-rules.ts";
import type { AppendRequest, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { type AppendShape, appendBlock } from "./append-block.ts";
import { type Binds, number, OUT_NUMBER, text } from "./binds.ts";
import type { TableNames } from "./layout.ts";
import { headBinds, recordBinds } from "./record-binds.ts";
import { saverBinds } from "./saver-binds.ts";

/** One call of an append. */
export interface AppendStep {
  readonly block: string;
  readonly binds: Binds;
}

/** How many records one block writes: nearly every append is one call, and the size of a block is limited. */
const MOST_IN_BLOCK = 32;

/** The blocks of an append, which are one transaction. The first one refuses or begins it. */
export function appendSteps(names: TableNames, threadId: string, request: AppendRequest): readonly AppendStep[] {
  const { replace = [], drop = [], dropBelow } = request;
  const added = recordsIn(request);
  const last = added.at(-1) ?? request.record;
  const head = [...added, ...replace].find(({ seq }) => seq === last.head);
  const drops = drop.length > 0 || dropBelow !== undefined;
  return chunks(replace, added).map((chunk, index): AppendStep => {
    const shape = { ...shapeOf(chunk), drops: drops && index === 0, ownHead: head !== undefined, continues: index > 0 };
    const records = [...chunk.replaced, ...chunk.added].map((record, at) => ({
      ...recordBinds(record, at + 1),
      ...(names.saver !== undefined && saverBinds(record, at + 1)),
    }));
    const claim = index === 0 ? claimBinds(request, last, head) : {};
    const binds = Object.assign({ b_thread: text(threadId) }, claim, ...records) as Binds;
    return { block: appendBlock(names, shape), binds };
  });
}

function claimBinds({ expected, ttlMs, ...edits }: AppendRequest, last: LogRecord, head?: LogRecord): Binds {
  const { drop = [], dropBelow, replace = [] } = edits;
  const isEdit = drop.length > 0 || dropBelow !== undefined || replace.length > 0;
  const firstReplaced = replace.reduce((least, { seq }) => Math.min(least, seq), Number.POSITIVE_INFINITY);
  const drops = { b_below: number(dropBelow), b_dropped: text(drop.length === 0 ? null : JSON.stringify(drop)) };
  return {
    b_generation: text(expected.generation),
    b_expected: number(expected.seq),
    b_expected_write: text(expected.writeId),
    b_tail: number(last.seq),
    b_tail_write_id: text(last.writeId),
    b_head: number(last.head),
    b_ttl_seconds: number(ttlMs === undefined ? null : ttlMs / 1000),
    b_appended: OUT_NUMBER,
    ...(head && headBinds(head)),
    ...((drop.length > 0 || dropBelow !== undefined) && drops),
    ...(isEdit && { b_words_to: number(replace.length === 0 ? null : firstReplaced - 1) }),
  };
}

interface Chunk {
  readonly replaced: readonly LogRecord[];
  readonly added: readonly LogRecord[];
}

const shapeOf = ({ replaced, added }: Chunk): Pick<AppendShape, "replaced" | "added" | "named"> => ({
  replaced: replaced.length,
  added: added.length,
  named: [...replaced, ...added].some(({ names }) => names !== undefined),
});

/** Replacements first, so that an append with nothing to replace fails before anything else is sent. */
function chunks(replaced: readonly LogRecord[], added: readonly LogRecord[]): readonly Chunk[] {
  const all = [...replaced, ...added];
  const count = Math.max(Math.ceil(all.length / MOST_IN_BLOCK), 1);
  return Array.from({ length: count }, (_, index) => {
    const [from, to] = [index * MOST_IN_BLOCK, (index + 1) * MOST_IN_BLOCK];
    return {
      replaced: replaced.slice(from, to),
      added: all.slice(Math.max(from, replaced.length), to),
    };
  });
}
