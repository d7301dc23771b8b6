import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import type { Forgets } from "../../checkpoint/people/people-in-thread.ts";
import { openRecord } from "../../checkpoint/record/record.ts";
import type { Found } from "../../state/people/erasing.ts";
import type { JsonValue } from "../../state/values/tags.ts";
import { decodeBody, type GraphBody, placeOf } from "../thread/graph-record.ts";
import { isContentChannel, isContentPart, isLangGraphs, partPath } from "../values/parts.ts";
import { Pool, splitLists, textOf, treeOf } from "../values/pool.ts";
import { GraphSweep, type SweepContext, saysWhom, sweepGraphMetadata } from "./graph-sweep.ts";

export interface EpochRule {
  readonly forgets: Forgets;
  /** Who of those people the thread as a whole is about. */
  readonly subjects: readonly string[];
  /** Leaves the thread's own subject, so that an attempt that breaks off still knows it. */
  readonly keepsSubject: boolean;
  /** There was an erasure before: unreferenced elements are left over from an interrupted attempt. */
  readonly wasErased: boolean;
}

export interface SweptRecord {
  readonly record: LogRecord;
  /** Nothing where it stays the same. */
  readonly body: GraphBody | undefined;
  readonly metadata: string | undefined;
  readonly found: readonly Found[];
  readonly opaque: number;
}

const BLANK = '"[erased]"';

/** The records of one epoch: they share a pool, and what one of them refers to lies in another. */
export function sweepEpoch(records: readonly LogRecord[], rule: EpochRule): readonly SweptRecord[] {
  const sweep = new EpochSweep(records, rule);
  sweep.reach();
  return records.map((record, index) => sweep.swept(record, index));
}

interface SweptText {
  readonly text: string;
  readonly found: readonly Found[];
  readonly opaque: number;
  readonly lists: readonly (readonly [node: number, context: SweepContext])[];
}

/** An element of the pool: who brought it, and how it is referred to. */
interface Element {
  readonly owner: number;
  readonly swept: Map<SweepContext, SweptText>;
}

class EpochSweep {
  readonly #rule: EpochRule;
  readonly #pool = new Pool();
  readonly #bodies: readonly (GraphBody | undefined)[];
  readonly #times: readonly number[];
  readonly #elements: Element[] = [];
  /** The elements that each record brought. */
  readonly #brought: readonly number[][];
  readonly #seenLists = new Set<string>();
  readonly #waiting: { readonly node: number; readonly context: SweepContext; readonly path: string }[] = [];
  readonly #isLangGraph: boolean;
  readonly #inline = new Map<number, JsonValue | undefined>();
  #conflicted: ReadonlySet<number> = new Set();

  constructor(records: readonly LogRecord[], rule: EpochRule) {
    this.#rule = rule;
    this.#times = records.map((record) => openRecord(record).createdAt);
    this.#bodies = records.map((record) =>
      placeOf(record) === undefined ? undefined : decodeBody(record.body, record.seq),
    );
    this.#brought = this.#bodies.map((body, owner) => {
      if (body === undefined) return [];
      this.#pool.add(body.pool);
      return body.pool.elements.map(() => this.#elements.push({ owner, swept: new Map() }) - 1);
    });
    const keys = this.#bodies.flatMap((body) => body?.checkpoint?.parts.set ?? []);
    this.#isLangGraph = isLangGraphs(keys.map(([key]) => partPath(key)[0]));
  }

  /** Goes from every value to what it refers to, in each context in which it does. */
  reach(): void {
    for (const [index, body] of this.#bodies.entries()) {
      for (const { text, path, isContent } of this.#rootsOf(body)) {
        this.#note(this.#sweep(text, this.#contextAt(index, isContent ? "own" : "plain"), index, path), path);
      }
    }
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      const { context, path } = next;
      for (let at = next.node; ; ) {
        const step = at === 0 || this.#seenLists.has(`${context}${at}`) ? undefined : this.#pool.step(at);
        this.#seenLists.add(`${context}${at}`);
        if (step === undefined) break;
        this.#reachElement(step.element, context, path);
        at = step.before;
      }
    }
    const isConflicted = ({ swept }: Element): boolean =>
      swept.size > 1 && swept.get("own")?.text !== swept.get("plain")?.text;
    this.#conflicted = new Set(this.#elements.flatMap((element, id) => (isConflicted(element) ? [id] : [])));
  }

  #reachElement(id: number, context: SweepContext, path: string): void {
    const element = this.#elements[id];
    if (element === undefined || element.swept.has(context)) return;
    const swept = this.#sweep(
      this.#pool.element(id),
      this.#contextAt(element.owner, context),
      element.owner,
      `${path}[]`,
    );
    element.swept.set(context, swept);
    this.#note(swept, `${path}[]`);
  }

  #note({ lists }: SweptText, path: string): void {
    for (const [node, context] of lists) this.#waiting.push({ node, context, path });
  }

  /** What is of another time than the person's is not swept as theirs. */
  #contextAt(index: number, context: SweepContext): SweepContext {
    const time = this.#times[index] ?? 0;
    return context === "own" && this.#rule.subjects.some((each) => this.#rule.forgets(each, time)) ? "own" : "plain";
  }

  #sweep(text: string, context: SweepContext, index: number, path: string): SweptText {
    if (context === "plain" && !saysWhom(text)) {
      const lists = splitLists(text).flatMap((chunk, at) => (at % 2 === 1 ? [[Number(chunk), context] as const] : []));
      return { text, found: [], opaque: 0, lists };
    }
    const sweep = new GraphSweep({
      matches: (subject) => this.#rule.forgets(subject, this.#times[index] ?? 0),
      listOf: (node) => this.#listOf(node),
      inline: (node) => this.#inlineOf(node),
    });
    const tree = treeOf(text);
    const next = sweep.sweep(tree, context);
    const found = sweep.found.map((each) => ({ ...each, path }));
    return { text: next === tree ? text : textOf(next), found, opaque: sweep.opaque, lists: sweep.lists };
  }

  #listOf(node: number): readonly JsonValue[] {
    return this.#pool.list(node).map((id) => treeOf(this.#pool.element(id)));
  }

  /** A list of the person's whose elements are also referenced by others' values: it is written inline, and the elements stay. */
  #inlineOf(node: number): JsonValue | undefined {
    if (this.#conflicted.size === 0) return undefined;
    if (!this.#inline.has(node)) {
      const isShared = this.#pool.list(node).some((id) => this.#conflicted.has(id));
      this.#inline.set(node, isShared ? this.#listOf(node) : undefined);
    }
    return this.#inline.get(node);
  }

  *#rootsOf(body: GraphBody | undefined): Generator<{ text: string; path: string; isContent: boolean }> {
    for (const [key, text] of body?.checkpoint?.parts.set ?? []) {
      const path = partPath(key);
      yield { text, path: path.join("."), isContent: !this.#isLangGraph || isContentPart(path) };
    }
    for (const { writes } of body?.writes ?? []) {
      for (const { channel, text } of writes) {
        yield { text, path: `writes.${channel}`, isContent: isContentChannel(channel) };
      }
    }
  }

  swept(record: LogRecord, index: number): SweptRecord {
    const body = this.#bodies[index];
    const { keepsSubject, forgets, wasErased } = this.#rule;
    const ids = this.#brought[index] ?? [];
    const elements = ids.map((id) => this.#elementText(id));
    const roots = [...this.#rootsOf(body)].map(({ text, path, isContent }) => {
      const swept = this.#sweep(text, this.#contextAt(index, isContent ? "own" : "plain"), index, path);
      return isContent ? swept : { ...swept, opaque: 0 };
    });
    const texts = roots.map(({ text }) => text).values();
    const next = body && withTexts(body, elements, () => texts.next().value ?? BLANK);
    const inMetadata = sweepGraphMetadata(record.metadata, {
      matches: (subject) => forgets(subject, this.#times[index] ?? 0),
      context: this.#contextAt(index, "own"),
      keepsSubject,
    });
    const inElements = ids.flatMap((id) => this.#ofElement(id) ?? (wasErased ? this.#remnant(id) : []));
    const found = [...roots, ...inElements].flatMap((each) => each.found);
    const opaque = [...roots, ...inElements].reduce((sum, each) => sum + each.opaque, 0);
    return { record, body: next, metadata: inMetadata.text, found: [...found, ...inMetadata.found], opaque };
  }

  #ofElement(id: number): SweptText | undefined {
    const element = this.#elements[id];
    return element?.swept.get("own") ?? element?.swept.get("plain");
  }

  /** What nothing refers to any more, while it can still be read. Whose it was can no longer be told. */
  #remnant(id: number): readonly SweptText[] {
    if (this.#pool.element(id) === BLANK) return [];
    return [{ text: BLANK, found: [{ kind: "field", path: "remnant", value: null }], opaque: 0, lists: [] }];
  }

  #elementText(id: number): string {
    const element = this.#elements[id];
    const [own, plain] = [element?.swept.get("own"), element?.swept.get("plain")];
    if (element === undefined || (own ?? plain) === undefined) return BLANK;
    if (plain !== undefined || own === undefined) return plain?.text ?? BLANK;
    // Once more, now that it is known which lists are shared with others.
    const { owner } = element;
    return this.#sweep(this.#pool.element(id), this.#contextAt(owner, "own"), owner, "").text;
  }
}

/** The same body with other texts; `undefined` where they are the same. */
function withTexts(
  body: GraphBody,
  elements: readonly string[],
  next: (text: string) => string,
): GraphBody | undefined {
  const { pool, checkpoint, writes } = body;
  let isChanged = elements.some((text, index) => text !== pool.elements[index]);
  const change = (text: string): string => {
    const changed = next(text);
    isChanged ||= changed !== text;
    return changed;
  };
  const set = checkpoint?.parts.set.map(([key, text]) => [key, change(text)] as const);
  const calls = writes.map((call) => ({
    ...call,
    writes: call.writes.map((write) => ({ ...write, text: change(write.text) })),
  }));
  if (!isChanged) return undefined;
  return {
    pool: { ...pool, elements },
    writes: calls,
    ...(checkpoint !== undefined &&
      set !== undefined && { checkpoint: { ...checkpoint, parts: { ...checkpoint.parts, set } } }),
  };
}
