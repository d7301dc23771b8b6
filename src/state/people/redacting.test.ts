import { describe, expect, test } from "vitest";
import { AgentState } from "../agent-state.ts";
import { diffFields } from "../delta.ts";
import { encodeText } from "../values/codec.ts";
import { ITEM_METADATA, STATE_RULES } from "./personal-fields.ts";
import { redactBody, redactJson, redactMetadata } from "./redacting.ts";
import { attributed } from "./subjects.ts";

/** Changes every text that it is given. */
const every = (text: string): string => `<${text}>`;

const before = AgentState.create({ metadata: { subject: "ann", note: "a note" } });
const after = before
  .withMessages([
    {
      role: "assistant",
      id: "m1",
      content: "words",
      metadata: { subject: ["ann"], said: "more words" },
      toolCalls: [{ id: "c1", name: "look", arguments: { $: "bytes", apiKey: "a key" } }],
    },
    { role: "tool", toolCallId: "c1", toolName: "look", content: "result" },
  ])
  .withToolExecution({
    toolCallId: "c1",
    toolName: "look",
    status: "failed",
    argumentsHash: "0123456789",
    idempotencyKey: "random",
    error: "an error",
  })
  .withMetadata({
    "holdfast.parent": { threadId: "t", toolCallId: "c0" },
    of: attributed("ann", "hers"),
    note: undefined,
  });

const MESSAGES = [
  {
    role: "assistant",
    id: "m1",
    content: "<words>",
    metadata: { subject: ["ann"], said: "<more words>" },
    toolCalls: [{ id: "c1", name: "look", arguments: { $: "object", v: { $: "<bytes>", apiKey: "<a key>" } } }],
  },
  { role: "tool", toolCallId: "c1", toolName: "look", content: "<result>" },
];
const EXECUTIONS = [
  {
    toolCallId: "c1",
    toolName: "look",
    status: "failed",
    argumentsHash: "0123456789",
    idempotencyKey: "random",
    error: "<an error>",
  },
];

const redacted = (body: object): unknown => JSON.parse(redactBody(encodeText(body, "body"), every));

describe("a redactor is given every text that may be personal, and no id, role, hash or name of a person", () => {
  test("of a whole state", () => {
    expect(redacted({ base: after.fields })).toMatchObject({
      base: {
        messages: MESSAGES,
        toolExecutions: EXECUTIONS,
        metadata: {
          subject: "ann",
          "holdfast.parent": { threadId: "t", toolCallId: "c0" },
          of: { "holdfast:subject": "ann", value: "<hers>" },
        },
      },
    });
  });

  test("of a change, whatever its form", () => {
    const { delta } = diffFields(before.fields, after.fields);
    expect(redacted({ delta })).toEqual({
      delta: {
        append: { messages: MESSAGES, toolExecutions: EXECUTIONS },
        records: {
          metadata: {
            set: {
              "holdfast.parent": { threadId: "t", toolCallId: "c0" },
              of: { "holdfast:subject": "ann", value: "<hers>" },
            },
            unset: ["note"],
          },
        },
      },
    });
    const { messages } = after.fields;
    expect(redacted({ delta: { lists: { messages: { keep: 0, items: messages } }, unset: ["overlay"] } })).toEqual({
      delta: { lists: { messages: { keep: 0, items: MESSAGES } }, unset: ["overlay"] },
    });
    expect(redacted({ delta: { set: { agentId: "agent", overlay: { summary: "words" } } } })).toEqual({
      delta: { set: { agentId: "agent", overlay: { summary: "<words>" } } },
    });
  });

  test("of fields that have no row, every text", () => {
    const later = { new: ["words"] };
    expect(redacted({ base: later })).toEqual({ base: { new: ["<words>"] } });
    expect(redacted({ delta: { append: later, records: { other: { set: { a: "b" }, unset: ["c"] } } } })).toEqual({
      delta: { append: { new: ["<words>"] }, records: { other: { set: { a: "<b>" }, unset: ["c"] } } },
    });
  });

  test("of what is in the place of an id and is no id, every text", () => {
    expect(redacted({ base: { messages: [{ role: "unknown", content: { deep: "words" }, id: ["words"] }] } })).toEqual({
      base: { messages: [{ role: "<unknown>", content: { deep: "<words>" }, id: ["<words>"] }] },
    });
  });

  test("of metadata and items, all but the subject; a key $ of the caller's is a key like any other", () => {
    const metadata = redactMetadata('{"$":"bytes","subject":"ann","a":"b"}', STATE_RULES.metadata.rule, every);
    expect(metadata).toBe('{"$":"<bytes>","subject":"ann","a":"<b>"}');
    const item = encodeText({ subject: ["ann", "bob"], $: "bytes", key: "said" }, "metadata");
    expect(JSON.parse(redactJson(item, ITEM_METADATA, every))).toEqual({
      $: "object",
      v: { subject: ["ann", "bob"], $: "<bytes>", key: "<said>" },
    });
  });

  test("where it changes nothing, the text stays the very same", () => {
    const text = encodeText({ base: after.fields }, "body");
    expect(redactBody(text, (same) => same)).toBe(text);
  });
});
