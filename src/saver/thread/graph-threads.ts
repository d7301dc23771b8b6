import type { CheckpointContext } from "../../checkpoint/context.ts";
import { Recent } from "../../internal/recent.ts";
import { checkpointName } from "../names.ts";
import type { PutOperation, Seen, WritesOperation } from "./operations.ts";
import { findCheckpoint, type ReadCheckpoint } from "./reading.ts";
import { ThreadWriter } from "./thread-writer.ts";

/** How many threads are kept in memory while nothing is done with them, and how much of them. */
const MOST_IDLE_WRITERS = 64;
const MOST_IDLE_BYTES = 64 * 1024 * 1024;
const MOST_ASKED_FOR = 1000;
const MOST_SEEN = 10_000;

/** The threads of one saver. What `CheckpointSaver` and the adapters to frameworks stand on. */
export class GraphThreads {
  readonly context: CheckpointContext;
  readonly #slackBytes: number;
  readonly #refusesForks: boolean;
  readonly #writers = new Map<string, ThreadWriter>();
  /** Checkpoints that were requested by id: a child of one of them is a deliberate fork. */
  readonly #askedFor = new Recent<true>(MOST_ASKED_FOR);
  /** What is built on one of them is refused if an erasure, a deletion or a storage that went back in time took it. */
  readonly #seen = new Recent<Seen>(MOST_SEEN);

  constructor(context: CheckpointContext, slackBytes: number, refusesForks: boolean) {
    this.context = context;
    this.#slackBytes = slackBytes;
    this.#refusesForks = refusesForks;
  }

  put(threadId: string, operation: PutOperation, source: unknown, ready: Promise<unknown>): Promise<void> {
    const { ns, parentId } = operation;
    const isMeant =
      source === "fork" || (parentId !== undefined && this.#askedFor.get(askedKey(threadId, ns, parentId)));
    const mustFollowNewest = this.#refusesForks && !isMeant;
    const seen = parentId === undefined ? undefined : this.#seen.get(askedKey(threadId, ns, parentId));
    return this.#write(threadId, { ...operation, mustFollowNewest }, ready, seen);
  }

  putWrites(threadId: string, operation: WritesOperation, ready: Promise<unknown>): Promise<void> {
    const seen = this.#seen.get(askedKey(threadId, operation.ns, operation.id));
    return this.#write(threadId, operation, ready, seen);
  }

  async #write(
    threadId: string,
    operation: PutOperation | WritesOperation,
    ready: Promise<unknown>,
    seen: Seen | undefined,
  ): Promise<void> {
    const place = { operation: operation.kind === "put" ? "put" : "putWrites", threadId };
    const key = askedKey(threadId, operation.ns, operation.id);
    const given = { ...operation, ...(seen !== undefined && { seen }) };
    // A child may come before this is written: what it holds is as old as what this was made of.
    const own: Seen = {
      erasures: seen?.erasures,
      place: this.#seen.get(key)?.place,
      madeOf: seen?.place ?? seen?.madeOf,
    };
    if (operation.kind === "put") this.#seen.set(key, own);
    const written = await this.context.guard(place, () => this.writer(threadId).write(given, ready));
    if (operation.kind === "put")
      Object.assign(own, { erasures: own.erasures ?? written.erasures, place: written.place });
    this.context.index.appended();
  }

  find(threadId: string, ns: string, id: string | undefined): Promise<ReadCheckpoint | undefined> {
    if (id !== undefined && this.#refusesForks) this.#askedFor.set(askedKey(threadId, ns, id), true);
    return this.context.guard({ operation: "get", threadId }, async () => {
      const found = await findCheckpoint(this.context, this.writer(threadId), threadId, ns, id);
      if (found !== undefined) {
        const { erasures, epoch, known } = found;
        const { seq, writeId } = known;
        const place = { generation: epoch.generation, seq, writeId };
        this.#seen.set(askedKey(threadId, ns, known.id), { erasures, place });
      }
      return found;
    });
  }

  writer(threadId: string): ThreadWriter {
    const known = this.#writers.get(threadId);
    const writer = known ?? new ThreadWriter(this.context, threadId, this.#slackBytes);
    this.#writers.delete(threadId);
    this.#writers.set(threadId, writer);
    if (known === undefined) this.#forgetIdle();
    return writer;
  }

  /** Everything that was handed in is written, or has failed. */
  async settled(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.settled()));
  }

  /** The ones that were not used for the longest time go first. */
  #forgetIdle(): void {
    let [count, bytes] = [0, 0];
    for (const [threadId, writer] of [...this.#writers].reverse()) {
      count += 1;
      bytes += writer.weight;
      const isTooMuch = count > MOST_IDLE_WRITERS || bytes > MOST_IDLE_BYTES;
      if (isTooMuch && count > 1 && writer.isIdle) this.#writers.delete(threadId);
    }
  }
}

const askedKey = (threadId: string, ns: string, id: string): string =>
  JSON.stringify([threadId, checkpointName(ns, id)]);
