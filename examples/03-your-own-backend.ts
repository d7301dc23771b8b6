/**
 * The easy door to a backend of your own: extend BaseCheckpointer, implement
 * four methods, advertise what is true, and let the conformance suite judge.
 *
 *   npx tsx examples/03-your-own-backend.ts
 */
import {
  Agent,
  AgentState,
  BaseCheckpointer,
  type CapabilityFlag,
  type CheckpointerCapabilities,
  type CheckpointRef,
  capabilities,
  checkpointRef,
  type PageOptions,
  type SaveOptions,
  StateError,
} from "holdfast";
import { testCheckpointer } from "holdfast/conformance";
import { ruleModel } from "holdfast/testing";

/** Replace with the client of your storage. */
class Connection {
  readonly #rows = new Map<string, string>();

  async put(key: string, value: unknown): Promise<void> {
    this.#rows.set(key, JSON.stringify(value));
  }

  async get(key: string): Promise<unknown> {
    return JSON.parse(this.#rows.get(key) ?? "null");
  }

  async delete(key: string): Promise<void> {
    this.#rows.delete(key);
  }
}

class MyCustomBackend extends BaseCheckpointer {
  readonly #connection = new Connection();

  /**
   * Every flag that is not named is false. `persistentCheckpointIds` is not:
   * this storage ends with the process. Nor is `conditionalSave`: two writers of
   * one thread would overwrite each other here.
   */
  readonly capabilities: CheckpointerCapabilities = capabilities({ history: true });

  async save(state: AgentState, threadId: string, options: SaveOptions = {}): Promise<string> {
    assertSave(state, threadId, options);
    const checkpointId = options.checkpointId ?? crypto.randomUUID();
    await this.#connection.put(key(threadId, checkpointId), state.toCheckpoint());
    const others = (await this.#ids(threadId)).filter((id) => id !== checkpointId);
    await this.#connection.put(key(threadId), [checkpointId, ...others]);
    return checkpointId;
  }

  /** `checkpointRef` also takes a plain id, and refuses what is neither: a typing error must not load another checkpoint. */
  async load(threadId: string, ref?: string | CheckpointRef): Promise<AgentState | undefined> {
    const { checkpointId } = checkpointRef("load", ref);
    assertIds(threadId, checkpointId);
    const id = checkpointId ?? (await this.#ids(threadId))[0];
    const payload = id === undefined ? null : await this.#connection.get(key(threadId, id));
    return payload === null ? undefined : AgentState.fromCheckpoint(payload);
  }

  /** Plain ids will do; a CheckpointSummary for each tells more. */
  async listCheckpoints(
    threadId: string,
    { limit = 10, cursor = "0" }: PageOptions = {},
  ): Promise<readonly string[] & { readonly cursor?: string }> {
    assertIds(threadId);
    if (!Number.isInteger(limit) || limit < 0 || limit > 10_000) throw invalid("limit must be from 0 to 10000");
    if (typeof cursor !== "string" || !/^\d+$/.test(cursor)) throw invalid("this cursor is not from listCheckpoints");
    const ids = await this.#ids(threadId);
    const end = Number(cursor) + limit;
    const found = ids.slice(Number(cursor), end);
    return end < ids.length ? Object.assign(found, { cursor: String(end) }) : found;
  }

  async delete(threadId: string, ref?: string | CheckpointRef): Promise<boolean> {
    const { checkpointId } = checkpointRef("delete", ref);
    assertIds(threadId, checkpointId);
    const ids = await this.#ids(threadId);
    const kept = checkpointId === undefined ? [] : ids.filter((id) => id !== checkpointId);
    if (kept.length === 0) await this.#connection.delete(key(threadId));
    else await this.#connection.put(key(threadId), kept);
    for (const id of ids) if (!kept.includes(id)) await this.#connection.delete(key(threadId, id));
    return kept.length < ids.length;
  }

  /** Newest first. */
  async #ids(threadId: string): Promise<readonly string[]> {
    return ((await this.#connection.get(key(threadId))) ?? []) as readonly string[];
  }
}

/** Ids are any text, so they are never joined: "a/b" in thread "c" must not meet "b" in thread "c/a". */
const key = (...ids: readonly string[]): string => JSON.stringify(ids);

/** What the suite asks for beyond storing: what cannot be right, or cannot be done, is refused before anything is written. */
function assertSave(state: AgentState, threadId: string, options: SaveOptions): void {
  if (!(state instanceof AgentState)) throw new TypeError("save() takes an AgentState first");
  assertIds(threadId, options.checkpointId);
  if (options.metadata !== undefined && !isPlain(options.metadata)) throw invalid("metadata must be a plain object");
  if (options.ttlSeconds !== undefined) throw lacks("ttl");
  if (options.lease !== undefined) throw lacks("lease");
  if (typeof options.expectedHead === "string" || options.expectedHead === null) throw lacks("conditionalSave");
}

function assertIds(...ids: readonly (string | undefined)[]): void {
  for (const [index, id] of ids.entries()) {
    if (index > 0 && id === undefined) continue;
    const isText = typeof id === "string" && id !== "" && id.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(id);
    if (!isText || Buffer.byteLength(id) > 1024) throw invalid("an id is 1 to 1024 bytes of text");
  }
}

const isPlain = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const invalid = (message: string): StateError => new StateError("INVALID_ARGUMENT", `my backend: ${message}`);
const lacks = (flag: CapabilityFlag): StateError =>
  new StateError("UNSUPPORTED", `my backend: the capability "${flag}" is false`, { capability: flag });

/** With vitest or node:test you hand over their own `test` and `afterAll`; this is what such a runner does. */
async function runConformanceSuite(): Promise<void> {
  const tests: { name: string; run: (running: { skip(reason?: string): unknown }) => Promise<void> }[] = [];
  let summarise = (): void => undefined;
  testCheckpointer({
    name: "my backend",
    test: (name, run) => tests.push({ name, run }),
    afterAll: (run) => {
      summarise = run;
    },
    create: async () => ({ subject: new MyCustomBackend() }),
  });
  for (const { name, run } of tests) {
    await run({ skip: () => undefined }).catch((error: unknown) => {
      process.exitCode = 1;
      console.log(`FAILED ${name}\n  ${error}`);
    });
  }
  summarise();
}

const agent = new Agent({
  model: ruleModel([
    { when: /My name is (\w+)/, answer: "Noted." },
    { when: /my name/, answer: ({ recall }) => `You said: ${recall()}` },
  ]),
  checkpointer: new MyCustomBackend(),
});
await agent.run("My name is Alice.", { threadId: "t1" });
console.log((await agent.run("What's my name?", { threadId: "t1" })).text);
await runConformanceSuite();
