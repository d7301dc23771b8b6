import { saverOf } from "../../src/entry/saver.ts";
import type { Store } from "../../src/entry/store.ts";
import { AgentState, assistantMessage, type Checkpointer, toolMessage, userMessage } from "../../src/index.ts";

/** Text that an attacker writes in the hope that a page shows it as more than text. */
export const HOSTILE: readonly string[] = [
  '<img src=x onerror="window.hurt=1">',
  "<script>window.hurt=1</script>",
  "</script><script>window.hurt=1</script>",
  '"><svg onload=window.hurt=1>',
  '<iframe srcdoc="<script>parent.hurt=1</script>"></iframe>',
  "[a](javascript:window.hurt=1) ![b](https://attacker.example/x.png)",
  "<a href=javascript:window.hurt=1>here</a>",
  "data:text/html,<script>window.hurt=1</script>",
  `${"$"}{window.hurt=1} {{constructor.constructor('window.hurt=1')()}} #{7*7} <%= 7*7 %>`,
  "```html\n<script>window.hurt=1</script>\n```",
  "\u202egpj.exe \u2066evil\u2069 \u200b",
  "<link rel=stylesheet href=https://attacker.example/x.css><base href=https://attacker.example/>",
  "<style>@import url(https://attacker.example/x.css)</style>",
];

/** Ids must be plain text without control characters; these are. */
export const HOSTILE_ID: string = "<img src=x onerror=window.hurt=1>&\"'`$".concat("{1}/../%2e%2e");

const all = HOSTILE.join("\n");
const proto = JSON.parse(
  '{"__proto__":{"polluted":"<img src=x onerror=window.hurt=1>"},"constructor":"<b>x</b>","$":"<i>y</i>"}',
) as Record<string, unknown>;

/** The same text in every place that a store has. */
export async function fillHostile(checkpointer: Checkpointer, store: Store): Promise<void> {
  const tool = "<svg/onload=window.hurt=1>";
  const metadata = { [HOSTILE_ID]: all, "<b>key</b>": HOSTILE[0] };
  const state = AgentState.create({ agentId: HOSTILE_ID })
    .withMetadata({
      ...metadata,
      proto,
      date: new Date(0),
      map: new Map([["<img src=x onerror=window.hurt=1>", all]]),
      subject: HOSTILE_ID,
    })
    .withMessages([
      userMessage(all, { name: HOSTILE_ID, id: HOSTILE_ID }),
      ...HOSTILE.map((text) => userMessage(text)),
      userMessage([
        { type: "reasoning", text: all },
        {
          type: "file",
          mediaType: "image/svg+xml",
          filename: HOSTILE_ID,
          data: new TextEncoder().encode("<svg xmlns='http://www.w3.org/2000/svg' onload='window.hurt=1'/>"),
        },
        { type: "file", mediaType: HOSTILE_ID, data: { url: "https://attacker.example/x.png" } },
      ]),
      assistantMessage(all, {
        toolCalls: [
          { id: HOSTILE_ID, name: tool, arguments: { ...proto, all } },
          { id: "q", name: tool, arguments: all, invalid: all },
        ],
      }),
      toolMessage(all, { toolCallId: HOSTILE_ID, toolName: tool, isError: true }),
    ])
    .withToolExecution({
      toolCallId: HOSTILE_ID,
      toolName: tool,
      status: "unknown",
      idempotencyKey: HOSTILE_ID,
      error: all,
      startedAt: 1,
      settledAt: 2,
      argumentsHash: HOSTILE_ID,
    })
    .withToolExecution({ toolCallId: "q", toolName: tool, status: "waiting" })
    .withInterrupt({
      id: HOSTILE_ID,
      toolCallId: "q",
      kind: "question",
      question: all,
      askedAt: 1,
      schema: {
        type: "object",
        title: HOSTILE[0],
        properties: { [HOSTILE_ID]: { type: "string", title: HOSTILE[1], description: all, enum: [...HOSTILE] } },
      },
    })
    .withArtifact(HOSTILE_ID, all)
    .withError({ at: 1, where: HOSTILE_ID, message: all });
  await checkpointer.save(state, HOSTILE_ID, { checkpointId: `${HOSTILE_ID}@1`, metadata });
  await checkpointer.save(state.withMessage(userMessage("second")), HOSTILE_ID, {
    checkpointId: `${HOSTILE_ID}@2`,
    metadata,
  });
  await checkpointer.fork(HOSTILE_ID, `${HOSTILE_ID}~2`);
  await saverOf(checkpointer).put({
    threadId: `${HOSTILE_ID}graph`,
    checkpointId: "<b>1</b>",
    checkpointNs: "<i>ns</i>",
    checkpointData: { channel_values: { "<img src=x onerror=window.hurt=1>": all, proto } },
    metadata: { source: HOSTILE_ID, step: 1 },
  });
  await store.putWithEmbedding(
    [HOSTILE_ID],
    HOSTILE_ID,
    { text: all, provenance: { quote: all, threadId: HOSTILE_ID, message: { index: 0 }, at: 1 } },
    { embedding: [1, 0], metadata: { [HOSTILE_ID]: all } },
  );
  await store.putWithEmbedding([HOSTILE_ID], "other", all, { embedding: [1, 0.1] });
}

const at = encodeURIComponent(HOSTILE_ID);

/** Every view that shows something of it, and what is there once it is ready. */
export const HOSTILE_VIEWS: readonly (readonly [address: string, ready: string])[] = [
  ["#/threads", "table.threads"],
  ["#/inbox", ".inbox .card"],
  ["#/search?words=hurt", ".cards .card"],
  [`#/t/${at}/messages`, "article[data-message]"],
  [`#/t/${at}/messages?m=1`, "article[data-message='0']"],
  [`#/t/${at}/timeline`, ".timeline li"],
  [`#/t/${at}/ledger`, ".doubts"],
  [`#/t/${at}/state`, ".tree"],
  [`#/t/${at}/lineage`, "svg.lineage"],
  [`#/t/${at}/charts`, ".chart"],
  [
    `#/t/${encodeURIComponent(`${HOSTILE_ID}graph`)}/graph?ns=${encodeURIComponent("<i>ns</i>")}`,
    ".graph .field-change",
  ],
  [`#/diff?a=${at}&aAt=${encodeURIComponent(`${HOSTILE_ID}@1`)}&b=${at}`, "section[aria-label='Messages'] .message"],
  [`#/compare?a=${at}&b=${encodeURIComponent(`${HOSTILE_ID}~2`)}`, ".pair .message"],
  [`#/items?key=${encodeURIComponent(JSON.stringify([[HOSTILE_ID], HOSTILE_ID]))}`, "meter"],
  ["#/health", ".facts-list"],
];
