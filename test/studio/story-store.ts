import { argumentsHash } from "../../src/agent/tool-call/ledger.ts";
import { saverOf } from "../../src/entry/saver.ts";
import type { Store } from "../../src/entry/store.ts";
import {
  AgentState,
  assistantMessage,
  type Checkpointer,
  systemMessage,
  toolMessage,
  userMessage,
} from "../../src/index.ts";

/** A red dot, as a PNG. */
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
  "base64",
);

export const START: number = Date.UTC(2026, 10, 14, 9, 0);

/** A clock that a story can move on. */
export class StoryClock {
  #at = START;
  readonly now = (): number => this.#at;

  later(ms: number): void {
    this.#at += ms;
  }
}

const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  cachedInputTokens: Math.round(inputTokens * 0.6),
  iterations: 1,
});

/** A trip that is planned: a question waits, and it was forked twice. */
async function trip(checkpointer: Checkpointer, clock: StoryClock): Promise<void> {
  const metadata = { user: "ann", agent: "travel" };
  let state = AgentState.create({ agentId: "travel" })
    .withMetadata({ user: "ann" })
    .withMessages([
      systemMessage("You plan trips. Ask before you book anything."),
      userMessage("Find me a way from **Vienna** to Lisbon for the conference, 3 to 6 December."),
    ]);
  await checkpointer.save(state, "trip-42", { metadata });
  clock.later(1200);
  state = state
    .withMessage(
      assistantMessage("I look at flights and trains first.", {
        toolCalls: [
          { id: "f1", name: "search_flights", arguments: { from: "VIE", to: "LIS", date: "2026-12-03" } },
          { id: "t1", name: "search_trains", arguments: { from: "Wien Hbf", to: "Lisboa" } },
        ],
      }),
    )
    .withToolExecution({
      toolCallId: "f1",
      toolName: "search_flights",
      status: "started",
      effect: "pure",
      attempts: 1,
      startedAt: clock.now(),
      idempotencyKey: "trip-42/f1/7f1c22",
    })
    .withToolExecution({
      toolCallId: "t1",
      toolName: "search_trains",
      status: "started",
      effect: "pure",
      attempts: 1,
      startedAt: clock.now(),
      idempotencyKey: "trip-42/t1/90ab11",
    })
    .withUsage(usage(812, 94));
  await checkpointer.save(state, "trip-42", { metadata });
  clock.later(850);
  state = state
    .withMessage(
      toolMessage("```\nOS 1123  VIE 07:05 → LIS 10:00   214 €\nTP 1273  VIE 12:40 → LIS 15:35   189 €\n```", {
        toolCallId: "f1",
        toolName: "search_flights",
      }),
    )
    .withToolExecution({
      toolCallId: "f1",
      toolName: "search_flights",
      status: "succeeded",
      effect: "pure",
      attempts: 1,
      startedAt: clock.now() - 850,
      settledAt: clock.now(),
      idempotencyKey: "trip-42/f1/7f1c22",
    })
    .withMessage(
      toolMessage("no connection under 40 hours", { toolCallId: "t1", toolName: "search_trains", isError: true }),
    )
    .withToolExecution({
      toolCallId: "t1",
      toolName: "search_trains",
      status: "failed",
      effect: "pure",
      attempts: 2,
      startedAt: clock.now() - 850,
      settledAt: clock.now(),
      error: "no connection under 40 hours",
      idempotencyKey: "trip-42/t1/90ab11",
    });
  await checkpointer.save(state, "trip-42", { metadata });
  clock.later(2000);
  const plan = assistantMessage([
    { type: "reasoning", text: "The train is out. TP 1273 is cheaper, and arrives early enough for the evening." },
    {
      type: "text",
      text: "There are two direct flights:\n\n**TP 1273** at 12:40 for 189 €, and `OS 1123` at 07:05 for 214 €. The first arrives in time.",
    },
  ]);
  state = state.withMessage(plan).withUsage(usage(1430, 210));
  await checkpointer.save(state, "trip-42", { metadata });
  clock.later(60_000);
  const first = state.withMessage(userMessage("Take the cheaper one. Window seat if there is one."));
  await checkpointer.save(first, "trip-42", { metadata });
  clock.later(1500);
  const booking = { id: "b1", name: "book_flight", arguments: { flight: "TP 1273", seat: "window", price: 189 } };
  const asking = first
    .withMessage(assistantMessage("I reserve it now.", { toolCalls: [booking] }))
    .withToolExecution({
      toolCallId: "b1",
      toolName: "book_flight",
      status: "waiting",
      effect: "atMostOnce",
      attempts: 0,
      idempotencyKey: "trip-42/b1/55d0e1",
      argumentsHash: argumentsHash(booking),
    })
    .withInterrupt({
      id: "b1/1",
      toolCallId: "b1",
      kind: "question",
      question: "There is no window seat left on TP 1273. Which seat shall I book?",
      schema: {
        type: "object",
        properties: {
          seat: { type: "string", enum: ["aisle", "middle"], title: "Seat" },
          extraLegroom: { type: "boolean", title: "Extra legroom for 24 €" },
        },
        required: ["seat"],
      },
      askedAt: clock.now(),
    })
    .withUsage(usage(1660, 71));
  await checkpointer.save(asking, "trip-42", { metadata });
}

/** Two forks of the trip that took different ways. */
async function forks(checkpointer: Checkpointer, clock: StoryClock): Promise<void> {
  const [, , fourth] = [...(await checkpointer.listCheckpoints("trip-42", 10))];
  await checkpointer.fork("trip-42", "trip-42~2", { at: fourth?.checkpointId ?? "" });
  clock.later(30_000);
  const metadata = { user: "ann", agent: "travel" };
  let other = await checkpointer.load("trip-42~2");
  if (other === undefined) throw new Error("the fork is there");
  other = other
    .withMessages([
      userMessage("What about going a day earlier?"),
      assistantMessage("On 2 December TP 1275 leaves at 18:20 for 96 €. You would save 93 €, and need one more night."),
    ])
    .withUsage(usage(1500, 120));
  await checkpointer.save(other, "trip-42~2", { metadata });
  await checkpointer.fork("trip-42~2", "trip-42~3");
  clock.later(9000);
  const third = await checkpointer.load("trip-42~3");
  await checkpointer.save(third?.withMessage(userMessage("Then book that one.")) ?? other, "trip-42~3", { metadata });
}

/** A payment whose process died in the middle. */
async function billing(checkpointer: Checkpointer, clock: StoryClock): Promise<void> {
  const state = AgentState.create({ agentId: "billing" })
    .withMessages([
      userMessage("Charge invoice 2026-118 to the card on file."),
      assistantMessage("Charging 1,280.00 € now.", {
        toolCalls: [
          { id: "c1", name: "charge_card", arguments: { invoice: "2026-118", amount: "1280.00", currency: "EUR" } },
        ],
      }),
      toolMessage(
        "The process ended while this call was running; its outcome is not known. Verify before repeating it.",
        { toolCallId: "c1", toolName: "charge_card", isError: true },
      ),
    ])
    .withToolExecution({
      toolCallId: "c1",
      toolName: "charge_card",
      status: "unknown",
      effect: "atMostOnce",
      attempts: 1,
      startedAt: clock.now() - 240_000,
      settledAt: clock.now() - 200_000,
      idempotencyKey: "billing-7/c1/3b9c0a7e4f",
      error: "the process ended while it was running",
    })
    .withUsage(usage(640, 55));
  await checkpointer.save(state, "billing-7", { metadata: { user: "acme", agent: "billing", invoice: "2026-118" } });
}

async function approval(checkpointer: Checkpointer, clock: StoryClock): Promise<void> {
  const rollBack = { id: "r1", name: "roll_back_deploy", arguments: { service: "checkout", to: "1.41.2" } };
  const state = AgentState.create({ agentId: "ops" })
    .withMessages([
      userMessage([
        { type: "text", text: "The deploy of 14:02 broke checkout, here is the graph. Roll it back." },
        { type: "file", mediaType: "image/png", filename: "errors.png", data: new Uint8Array(PICTURE) },
      ]),
      assistantMessage("I roll `checkout` back to 1.41.2.", { toolCalls: [rollBack] }),
    ])
    .withToolExecution({
      toolCallId: "r1",
      toolName: "roll_back_deploy",
      status: "waiting",
      effect: "idempotent",
      idempotencyKey: "on-call/r1/0c41",
      argumentsHash: argumentsHash(rollBack),
    })
    .withInterrupt({
      id: "r1/approval",
      toolCallId: "r1",
      kind: "approval",
      question: "Allow roll_back_deploy to run?",
      askedAt: clock.now(),
    });
  await checkpointer.save(state, "on-call/2026-11-14", { metadata: { agent: "ops", severity: 1 } });
}

async function graph(checkpointer: Checkpointer): Promise<void> {
  const saver = saverOf(checkpointer);
  const put = (checkpointId: string, step: number, values: object, parentId?: string, checkpointNs = "") =>
    saver.put({
      threadId: "research-graph",
      checkpointId,
      checkpointNs,
      checkpointData: { v: 4, channel_values: values },
      metadata: { source: step < 0 ? "input" : "loop", step },
      ...(parentId !== undefined && { parentId }),
    });
  await put("1f0a-0001", -1, { question: "What changed in the tariff?" });
  await put(
    "1f0a-0002",
    0,
    { question: "What changed in the tariff?", sources: ["tariff-2026.pdf", "notice-114"] },
    "1f0a-0001",
  );
  await put(
    "1f0a-0003",
    1,
    { question: "What changed in the tariff?", sources: ["tariff-2026.pdf", "notice-114"], draft: "Two rates fell." },
    "1f0a-0002",
  );
  await put("1f0a-0101", 0, { query: "notice-114" }, undefined, "reader:1");
  await saver.putWrites({
    threadId: "research-graph",
    checkpointId: "1f0a-0003",
    taskId: "review-1",
    writes: [
      ["__interrupt__", [{ value: "Is the draft fine?" }]],
      ["draft", "Two rates fell, one rose."],
    ],
  });
}

/** Enough quiet threads that a list looks like a list. */
async function quiet(checkpointer: Checkpointer, clock: StoryClock): Promise<void> {
  const topics = [
    "refund of order 5512",
    "password reset",
    "late parcel",
    "wrong size",
    "gift card",
    "address change",
    "duplicate charge",
    "warranty",
  ];
  for (const [index, topic] of topics.entries()) {
    clock.later(400_000);
    const state = AgentState.create({ agentId: "support" })
      .withMessages([
        userMessage(`I write because of the ${topic}.`),
        assistantMessage(`I am sorry about the ${topic}. It is taken care of now.`),
      ])
      .withUsage(usage(300 + index * 40, 60));
    await checkpointer.save(state, `support/${1040 + index}`, {
      metadata: { user: `customer-${index + 1}`, agent: "support" },
    });
  }
}

/** A store as a small company would have it after a day. */
export async function fillStory(checkpointer: Checkpointer, clock: StoryClock): Promise<void> {
  await quiet(checkpointer, clock);
  await graph(checkpointer);
  await trip(checkpointer, clock);
  await forks(checkpointer, clock);
  await billing(checkpointer, clock);
  await approval(checkpointer, clock);
}

export async function fillItems(store: Store): Promise<void> {
  await store.put(["settings"], "currency", "EUR");
  const said = (text: string, index: number) => ({
    id: `m${index}`,
    type: "user",
    subject: "user",
    attribute: "seat",
    value: "window",
    text,
    status: "active",
    pinned: false,
    provenance: {
      threadId: "trip-42",
      checkpointId: null,
      message: { index, role: "user" },
      quote: "Window seat if there is one.",
      extractor: "heuristic",
      at: START,
    },
  });
  await store.putWithEmbedding(["memories", "users", "ann"], "seat", said("Ann prefers a window seat.", 6), {
    embedding: [0.9, 0.1, 0, 0.2],
  });
  await store.putWithEmbedding(
    ["memories", "users", "ann"],
    "price",
    said("Ann takes the cheaper flight when the times fit.", 6),
    { embedding: [0.7, 0.5, 0.1, 0] },
  );
  await store.putWithEmbedding(
    ["docs"],
    "baggage",
    { title: "Baggage", text: "One bag of 23 kg is included on all fares but Basic." },
    { embedding: [0.2, 0.9, 0.3, 0] },
  );
}
