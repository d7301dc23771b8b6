import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { Checkpointer } from "../checkpointer.ts";
import { CheckpointContext } from "../context.ts";
import { APPENDS_PER_INDEXING, MOST_UNINDEXED } from "../find/deferred-index.ts";
import type { FoundRecords, LogCapabilities, LogRecord } from "../log/thread-log.ts";

/** A log whose index is brought up to date by an indexing that goes on until the test lets it end. */
class SlowIndexLog extends MemoryLog {
  override readonly capabilities: LogCapabilities = { ...new MemoryLog().capabilities, search: "deferred" };
  readonly signals: (AbortSignal | undefined)[] = [];
  running = 0;
  mostAtOnce = 0;
  isClosedWhileIndexing = false;
  failures = 0;
  readonly #begun: () => void;
  readonly #mayEnd: Promise<void>;
  /** Resolves when the first indexing has begun. */
  readonly begun: Promise<void>;
  /** Every indexing, of now and later, ends after this call. */
  letEnd: () => void = () => undefined;

  constructor() {
    super();
    let begun = (): void => undefined;
    this.begun = new Promise((resolve) => {
      begun = resolve;
    });
    this.#begun = begun;
    this.#mayEnd = new Promise((resolve) => {
      this.letEnd = resolve;
    });
  }

  override async search(): Promise<FoundRecords> {
    return { hits: [], order: "best" };
  }

  override async catchUp(_wordsOf: (record: LogRecord) => string | undefined, signal?: AbortSignal): Promise<void> {
    this.signals.push(signal);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.running);
    this.#begun();
    await this.#mayEnd;
    this.running--;
    if (this.failures > 0) {
      this.failures--;
      throw new Error("the index is broken");
    }
  }

  override async close(): Promise<void> {
    this.isClosedWhileIndexing = this.running > 0;
    await super.close();
  }
}

const appendTimes = (context: CheckpointContext, times: number): void => {
  for (let count = 0; count < times; count++) context.index.appended();
};

describe("words are indexed in the background", () => {
  test("after a number of appends, one indexing after another", async () => {
    const log = new SlowIndexLog();
    const context = new CheckpointContext(log, {});
    appendTimes(context, APPENDS_PER_INDEXING - 1);
    await context.index.settled();
    expect(log.signals).toHaveLength(0);
    log.letEnd();
    for (let indexings = 1; indexings <= 3; indexings++) {
      appendTimes(context, APPENDS_PER_INDEXING);
      await context.index.settled();
      expect(log.signals).toHaveLength(indexings);
    }
    expect(log.mostAtOnce).toBe(1);
  });

  test("appends that come while one is running get the next one, after it", async () => {
    const log = new SlowIndexLog();
    const context = new CheckpointContext(log, {});
    appendTimes(context, APPENDS_PER_INDEXING);
    await log.begun;
    appendTimes(context, APPENDS_PER_INDEXING);
    log.letEnd();
    await context.index.settled();
    expect(log.signals).toHaveLength(2);
    expect(log.mostAtOnce).toBe(1);
  });

  test("it waits while appends do not pause, and not for ever", async () => {
    const log = new SlowIndexLog();
    log.letEnd();
    const context = new CheckpointContext(log, {});
    for (let appends = 1; appends < MOST_UNINDEXED; appends++) {
      context.index.appended();
      await new Promise((resolve) => setImmediate(resolve));
      expect(log.signals).toHaveLength(0);
    }
    context.index.appended();
    await context.index.settled();
    expect(log.signals).toHaveLength(1);
  });

  test("with the signal that closing gives; what has not begun by then does not begin", async () => {
    const log = new SlowIndexLog();
    const context = new CheckpointContext(log, {});
    appendTimes(context, APPENDS_PER_INDEXING);
    await log.begun;
    appendTimes(context, 2 * APPENDS_PER_INDEXING);
    context.beginClosing();
    log.letEnd();
    await context.index.settled();
    expect(log.signals).toEqual([context.closing]);
    expect(log.signals[0]?.aborted).toBe(true);
  });

  test("a failure harms no append, and the next indexing tries again", async () => {
    const log = new SlowIndexLog();
    log.failures = 1;
    log.letEnd();
    const context = new CheckpointContext(log, { retry: { attempts: 1 } });
    for (let indexings = 1; indexings <= 2; indexings++) {
      appendTimes(context, APPENDS_PER_INDEXING);
      await context.index.settled();
      expect(log.signals).toHaveLength(indexings);
    }
  });

  test("a log without a deferred index is asked for nothing", async () => {
    const context = new CheckpointContext(new MemoryLog(), {});
    appendTimes(context, 2 * APPENDS_PER_INDEXING);
    await context.index.settled();
  });

  test("a checkpointer counts its saves, and closes the log when the indexing has ended", async () => {
    const log = new SlowIndexLog();
    const checkpointer = new Checkpointer(log);
    let state = AgentState.create();
    for (let count = 0; count < APPENDS_PER_INDEXING; count++) {
      state = state.withMetadata({ count });
      await checkpointer.save(state, "t");
    }
    await log.begun;
    const closed = checkpointer.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(log.running).toBe(1);
    log.letEnd();
    await closed;
    expect(log.signals).toHaveLength(1);
    expect(log.isClosedWhileIndexing).toBe(false);
  });
});
