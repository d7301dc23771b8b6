/**
 * Writes the golden files of the current format: what this version stores, kept
 * for ever, so that every later version proves that it still reads it. They are
 * written once, when a format is new. An existing version is never overwritten:
 * a file that no longer loads is a broken promise, not an outdated file.
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { MemoryLog } from "../src/backends/memory/log.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import type { AppendOutcome, AppendRequest, LogRecord } from "../src/checkpoint/log/thread-log.ts";
import { AgentState, FORMAT_VERSION } from "../src/state/agent-state.ts";
import { assistantMessage, systemMessage, toolMessage, userMessage } from "../src/state/message.ts";

const START = Date.UTC(2026, 0, 1);

/** Keeps, beside the log, the records as any storage would hold them by now. */
class DumpingLog extends MemoryLog {
  readonly threads = new Map<string, { readonly generation: string; readonly records: Map<number, LogRecord> }>();

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    const outcome = await super.append(threadId, request);
    if (!outcome.appended) return outcome;
    const { generation } = request.expected;
    const { record, replace = [], drop = [], dropBelow = 0 } = request;
    const thread = this.threads.get(threadId) ?? { generation, records: new Map<number, LogRecord>() };
    for (const seq of thread.records.keys()) {
      if (seq < dropBelow || drop.includes(seq)) thread.records.delete(seq);
    }
    for (const one of [...replace, record]) thread.records.set(one.seq, one);
    this.threads.set(threadId, thread);
    return outcome;
  }

  dump(threadId: string): object {
    const { generation, records } = this.threads.get(threadId) ?? { generation: "", records: new Map() };
    const inOrder = [...records.values()].sort((a, b) => a.seq - b.seq);
    return {
      threadId,
      generation,
      records: inOrder.map((one) => ({ ...one, body: Buffer.from(one.body).toString() })),
    };
  }
}

/** Every field, and every kind of value the codec knows, in places where users put them. */
const everything = AgentState.create({ agentId: "golden-agent" })
  .withMessages([
    systemMessage("Be brief.", { id: "m1" }),
    userMessage(
      [
        { type: "text", text: "What is in this picture? \u{1f600} \u0000 \u2028 \ud800" },
        { type: "file", mediaType: "image/png", data: Uint8Array.of(137, 80, 78, 71), filename: "a.png" },
        { type: "file", mediaType: "text/html", data: { url: "https://example.com/a" } },
      ],
      { id: "m2", name: "Ada", metadata: { at: new Date(START) } },
    ),
    assistantMessage([{ type: "reasoning", text: "It asks.", providerMetadata: { anthropic: { signature: "sig" } } }], {
      id: "m3",
      toolCalls: [
        { id: "call_1", name: "look", arguments: { box: [0, -0, 1.5], exact: 12345678901234567890n } },
        { id: "call_2", name: "look", arguments: {}, invalid: "the arguments are not JSON" },
      ],
      incomplete: true,
      providerMetadata: { openai: { itemId: "item_1" } },
    }),
    toolMessage("a cat", { id: "m4", toolCallId: "call_1", toolName: "look" }),
    toolMessage("failed", { toolCallId: "call_2", toolName: "look", isError: true }),
  ])
  .withToolExecution({
    toolCallId: "call_1",
    toolName: "look",
    status: "succeeded",
    idempotencyKey: "key-1",
    argumentsHash: "hash-1",
    attempts: 2,
    startedAt: START,
    settledAt: START + 1,
  })
  .withToolExecution({ toolCallId: "call_2", toolName: "look", status: "failed", error: "no such picture" })
  .withReasoningStep({ iteration: 1, thought: "look at it", confidence: 0.5 })
  .withError({ at: START, where: "model", message: "overloaded" })
  .withInterrupt({
    id: "i1",
    toolCallId: "call_1",
    kind: "approval",
    question: "May I?",
    schema: { type: "boolean" },
    askedAt: START,
    answer: { value: true, at: START + 2 },
  })
  .withArtifact("look-1", "a very long result")
  .withUsage({ runs: 1, iterations: 2, toolCalls: 2, inputTokens: 30, outputTokens: 40, cachedInputTokens: 5 })
  .withProviderState({ openai: { previousResponseId: "resp_1" } })
  .withMetadata({
    undefined: { member: undefined },
    numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
    bigint: -(2n ** 64n),
    dates: [new Date(START), new Date(Number.NaN)],
    map: new Map<unknown, unknown>([
      ["key", 1],
      [{ object: true }, new Map([[1n, null]])],
    ]),
    set: new Set<unknown>(["b", "a", undefined]),
    bytes: Uint8Array.of(0, 127, 128, 255),
    buffer: Buffer.from([0, 127, 128, 255]),
    bare: Object.assign(Object.create(null), { $: "bare", inside: [1] }),
    likeTags: [{ $: "date", v: "2026-01-01" }, { $: "object", v: { $: "undefined" } }, { $: 1 }],
    proto: JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
    keys: { "": 0, "10": 1, "9": 2, "a b": 3, "\ud800": 4 },
  });

/** A thread with every kind of record: a fork's base, deltas of every kind, a compaction, an edit, and a lease as its tail. */
async function everyRecord(): Promise<object> {
  let time = START;
  const log = new DumpingLog();
  const schema = { version: 3, migrate: (fields: AgentState["fields"]) => fields };
  const checkpointer = new Checkpointer(log, { now: () => time++, stateSchema: schema });
  await checkpointer.save(AgentState.create().withMessage(userMessage("asked first")), "golden origin", {
    checkpointId: "o1",
  });
  await checkpointer.fork("golden origin", "golden thread");
  const save = async (name: string, change: (state: AgentState) => AgentState): Promise<void> => {
    const state = (await checkpointer.load("golden thread")) ?? AgentState.create();
    await checkpointer.save(change(state), "golden thread", { checkpointId: name, metadata: { name, big: 2n ** 60n } });
  };
  await save("said", (state) => state.withMessages([assistantMessage("answered"), userMessage("asked again")]));
  await save("noted", (state) => state.withMetadata({ a: 1, b: new Date(START) }).with({ agentId: "golden-agent" }));
  await save("edited", (state) => state.withHistory([...state.messages.slice(0, -1), userMessage("asked better")]));
  await save("deleted", (state) => state.withMetadata({ a: undefined, c: new Set([1]) }));
  await save("called", (state) =>
    state
      .withToolExecution({ toolCallId: "c1", toolName: "t", status: "started" })
      .withToolExecution({ toolCallId: "c2", toolName: "t", status: "started" }),
  );
  await save("settled", (state) => state.withToolExecution({ toolCallId: "c2", toolName: "t", status: "succeeded" }));
  await checkpointer.delete("golden thread", { checkpointId: "deleted" });
  await save("compacted", (state) => state.withHistory([systemMessage("summary"), ...state.messages.slice(-2)]));
  await save("after", (state) => state.withMessage(assistantMessage("answered better")));
  await save("short-lived", (state) => state.withUsage({ runs: 1 }));
  await checkpointer.delete("golden thread", { checkpointId: "short-lived" });
  return checkpointer.withLease("golden thread", async () => log.dump("golden thread"), { owner: "golden-worker" });
}

const folder = new URL(`../test/golden/v${FORMAT_VERSION}/`, import.meta.url);
if (existsSync(folder)) {
  console.error(`test/golden/v${FORMAT_VERSION} is there already; golden files are written once and kept for ever`);
  process.exit(1);
}
await mkdir(folder, { recursive: true });
const write = (name: string, content: object): Promise<void> =>
  writeFile(new URL(name, folder), `${JSON.stringify(content, null, 2)}\n`);
await write("state-empty.json", AgentState.create().toCheckpoint());
await write("state-everything.json", everything.toCheckpoint());
await write("thread.json", await everyRecord());
console.log(`wrote test/golden/v${FORMAT_VERSION}`);
