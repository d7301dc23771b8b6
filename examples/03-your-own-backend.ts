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
  type CheckpointerCapabilities,
  type CheckpointRef,
  capabilities,
  type PageOptions,
  type SaveOptions,
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

  async keys(prefix: string, limit?: number): Promise<string[]> {
    return [...this.#rows.keys()].filter((key) => key.startsWith(prefix)).slice(0, limit);
  }
}

/**
 * What the page that this comes from shows, in TypeScript. It checks nothing: an agent, a session and the suite put a
 * guard around it, which refuses what cannot be right before it gets here, makes ids safe to join and hands out copies.
 */
class MyCustomBackend extends BaseCheckpointer {
  readonly #connection = new Connection();

  /**
   * Every flag that is not named is false, and what it stands for is refused by name. Without `history` only the newest
   * checkpoint of each thread is shown.
   */
  readonly capabilities: CheckpointerCapabilities = capabilities({});

  async save(state: AgentState, threadId: string, { checkpointId = crypto.randomUUID() }: SaveOptions = {}) {
    await this.#connection.put(`${threadId}/${checkpointId}`, state.toCheckpoint());
    await this.#connection.put(`${threadId}/latest`, checkpointId);
    return checkpointId;
  }

  async load(threadId: string, { checkpointId }: CheckpointRef = {}): Promise<AgentState | undefined> {
    const id = checkpointId ?? (await this.#connection.get(`${threadId}/latest`));
    const payload = await this.#connection.get(`${threadId}/${id}`);
    return payload === null ? undefined : AgentState.fromCheckpoint(payload);
  }

  async listCheckpoints(threadId: string, { limit = 10 }: PageOptions = {}): Promise<string[]> {
    return this.#connection.keys(`${threadId}/`, limit);
  }

  async delete(threadId: string): Promise<boolean> {
    const keys = await this.#connection.keys(`${threadId}/`);
    for (const key of keys) await this.#connection.delete(key);
    return keys.length > 0;
  }
}

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
