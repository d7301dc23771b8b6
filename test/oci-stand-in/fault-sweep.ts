import { expect } from "vitest";
import { OCIBucketBackend } from "../../src/backends/oci/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import { type Fault, OciStandIn } from "./stand-in.ts";
import { placeOn } from "./test-bucket.ts";

/** What may go wrong with one request. The answer 412 after the effect is a gateway that repeated the request by itself. */
export const FAULTS: readonly Fault[] = [
  ...[503, 500, 409].flatMap((status) =>
    (["before", "after"] as const).map((when): Fault => ({ when, answer: { status, code: `Injected${status}` } })),
  ),
  { when: "before", answer: { status: 429, code: "TooManyRequests" } },
  { when: "after", answer: { status: 412, code: "IfMatchFailed" } },
  { when: "before", answer: "cut" },
  { when: "after", answer: "cut" },
];

/** For a test's name. */
export const nameOf = ({ answer, when }: Fault): string =>
  `${typeof answer === "string" ? "a cut connection" : answer.status} ${when} the effect`;

const PREFIX = "faults/";
/** A full page, one that is almost full, and one body that is large. */
const SAVES = 31;
const LARGE_AT = 5;

/** A bucket with a thread in it, to begin from again and again. */
export class FaultSweep {
  readonly #standIn: OciStandIn;
  #prepared: ReadonlyMap<string, { readonly bytes: Buffer; readonly etag: string }> = new Map();
  #ids: readonly string[] = [];
  #texts: readonly string[] = [];

  private constructor(standIn: OciStandIn) {
    this.#standIn = standIn;
  }

  static async prepare(): Promise<FaultSweep> {
    const sweep = new FaultSweep(await OciStandIn.start({ mostListed: 3 }));
    const subject = sweep.open();
    const ids: string[] = [];
    let state = AgentState.create();
    for (let count = 1; count <= SAVES; count++) {
      state = state.withMessage(userMessage(`message ${count} ${count === LARGE_AT ? "x".repeat(40_000) : ""}`));
      ids.push(await subject.save(state, "t"));
    }
    await subject.close();
    sweep.#ids = ids;
    sweep.#texts = state.messages.map(textOf);
    sweep.#prepared = new Map(sweep.#standIn.objects());
    return sweep;
  }

  open(): OCIBucketBackend {
    return new OCIBucketBackend({ ...placeOn(this.#standIn, PREFIX), retry: { attempts: 4, baseDelayMs: 1 } });
  }

  idAt(count: number): string {
    return this.#ids[count - 1] ?? "";
  }

  objectNames(): readonly string[] {
    return [...this.#standIn.objects().keys()];
  }

  close(): Promise<void> {
    return this.#standIn.close();
  }

  /** The thread's checkpoints by their number of messages, each once, and some of them in full. */
  async provesHistory(subject: OCIBucketBackend, threadId: string, counts: readonly number[]): Promise<void> {
    const history = await subject.listCheckpoints(threadId, { limit: 1000 });
    expect(history.map(({ messageCount }) => messageCount)).toEqual(counts);
    expect(new Set(history.map(({ checkpointId }) => checkpointId)).size).toBe(counts.length);
    for (const at of [history[0], history.at(-1)]) {
      const { checkpointId = "", messageCount = 0 } = at ?? {};
      const state = await subject.load(threadId, { checkpointId });
      expect(state?.messages.map(textOf).slice(0, SAVES)).toEqual(this.#texts.slice(0, messageCount));
    }
  }

  /** Runs a scenario with the fault at its first request, at its second, and so on to its last. Says how often. */
  async run(scenario: Scenario, fault: Fault): Promise<number> {
    for (let at = 1; ; at++) {
      const made = await this.#runOnce(scenario, fault, at).catch((cause: unknown) => {
        throw new Error(`the fault at request ${at}`, { cause });
      });
      if (made < at) return at - 1;
    }
  }

  async #runOnce({ run, proof, threads }: Scenario, fault: Fault, at: number): Promise<number> {
    const { requests } = this.#standIn;
    const objects = this.#standIn.objects();
    objects.clear();
    for (const [name, object] of this.#prepared) objects.set(name, object);
    const first = requests.length;
    this.#standIn.faultAt = () => (requests.length - first === at ? fault : undefined);
    const subject = this.open();
    await run(subject, this);
    const made = requests.length - first;
    this.#standIn.faultAt = () => undefined;
    const other = this.open();
    await proof(other, this);
    // Whatever happened, it goes on from there, and nothing stays that a deletion does not reach.
    for (const threadId of threads) {
      const state = await other.load(threadId);
      if (state !== undefined) await other.save(state.withMessage(userMessage("afterwards")), threadId);
      await other.delete(threadId);
    }
    expect(this.objectNames()).toEqual([]);
    await subject.close();
    await other.close();
    return made;
  }
}

export interface Scenario {
  /** Those that may be there at the end. */
  readonly threads: readonly string[];
  readonly run: (subject: OCIBucketBackend, sweep: FaultSweep) => Promise<void>;
  /** What must be so afterwards, as another process sees it. */
  readonly proof: (subject: OCIBucketBackend, sweep: FaultSweep) => Promise<void>;
}

async function saveMore(subject: OCIBucketBackend, threadId: string, count: number, size = 10): Promise<void> {
  let state = (await subject.load(threadId)) ?? AgentState.create();
  for (let done = 0; done < count; done++) {
    state = state.withMessage(userMessage(`more ${done} ${"y".repeat(size)}`));
    await subject.save(state, threadId);
  }
}

const down = (from: number, to = 1): number[] => Array.from({ length: from - to + 1 }, (_, index) => from - index);

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "a first save": {
    threads: ["new", "t"],
    run: (subject) => saveMore(subject, "new", 1),
    proof: async (subject) => expect(await subject.listCheckpoints("new")).toHaveLength(1),
  },
  "saves over the end of a page, the last one large": {
    threads: ["t"],
    run: async (subject) => {
      await saveMore(subject, "t", 2);
      await saveMore(subject, "t", 1, 40_000);
    },
    proof: (subject, sweep) => sweep.provesHistory(subject, "t", down(SAVES + 3)),
  },
  "the deletion of checkpoints on a full page and of the newest": {
    threads: ["t"],
    run: async (subject, sweep) => {
      for (const at of [LARGE_AT, SAVES]) {
        expect(await subject.delete("t", { checkpointId: sweep.idAt(at) })).toBe(true);
      }
    },
    proof: (subject, sweep) =>
      sweep.provesHistory(
        subject,
        "t",
        down(SAVES).filter((count) => count !== LARGE_AT && count !== SAVES),
      ),
  },
  "a vacuum": {
    threads: ["t"],
    run: async (subject) => {
      await subject.vacuum({ keepLast: 9 });
    },
    proof: (subject, sweep) => sweep.provesHistory(subject, "t", down(SAVES, SAVES - 8)),
  },
  "the deletion of a thread": {
    threads: [],
    run: async (subject) => {
      expect(await subject.delete("t")).toBe(true);
    },
    proof: async (subject) => expect(await subject.load("t")).toBeUndefined(),
  },
  "a copy": {
    threads: ["t", "copy"],
    run: async (subject) => {
      expect(await subject.copyThread("t", "copy")).toBe(true);
    },
    proof: async (subject, sweep) => {
      await sweep.provesHistory(subject, "t", down(SAVES));
      await sweep.provesHistory(subject, "copy", down(SAVES));
    },
  },
};
