import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import type { Signal } from "../../src/checkpoint/signals/signal.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { newCheckpointId } from "../../src/saver/saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { EMPTY_FIELDS, type StateFields, type ToolExecution } from "../../src/state/fields.ts";
import { assistantMessage, toolMessage, type UserMessage, userMessage } from "../../src/state/message.ts";
import { emptied, type Rule, text, type Variants } from "../../src/state/people/field-rule.ts";
import { STATE_RULES, STORED_RULES } from "../../src/state/people/personal-fields.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import { encodeValue } from "../../src/state/values/codec.ts";
import type { BaseStore } from "../../src/store/base-store.ts";

/** A word of its own for every place that something is written to, so that each can be missed by itself. */
export class Words {
  readonly all: string[] = [];
  readonly person: string;

  constructor(person: string) {
    this.person = person;
  }

  next(): string {
    const word = `z${this.person}${String(this.all.length).padStart(4, "0")}z`;
    this.all.push(word);
    return word;
  }
}

/** A value with a word in every kind of place that a value has. */
const anything = (words: Words): unknown => ({
  text: words.next(),
  list: [words.next(), { inner: words.next() }],
  map: new Map<unknown, unknown>([[words.next(), { of: words.next() }]]),
  set: new Set([words.next()]),
  bytes: Buffer.from(words.next()),
});

/** Values of the kinds that rows keep, of which one fits. */
const KINDS: readonly unknown[] = ["base", "question", "succeeded", "pure", "length", 7, true, new Date(7)];

/** A value with the person's words everywhere except where its row says that it never holds any. */
export function filled(rule: Rule, words: Words, field = ""): unknown {
  if ("kept" in rule) {
    // Ids and names first: text of any kind fits those.
    const id = field.endsWith("allId") || field === "toolCalls.id" ? `call of ${words.person}` : "look";
    const fitting = [...KINDS, ...["system", "user", "assistant", "tool"]].find((value) => rule.is(value));
    return rule.is(id) ? id : fitting;
  }
  if ("each" in rule) {
    const items = "variants" in rule.each ? Object.keys(rule.each.variants) : [""];
    return items.map((variant) => filled(rule.each, words, variant === "" ? field : variant));
  }
  if ("variants" in rule) return filled(rule.variants[field] ?? { fields: {} }, words, field);
  if ("fields" in rule) {
    const fields = Object.entries(rule.fields).map(([name, each]) => {
      const value = filled(each, words, field === "toolCalls" ? `toolCalls.${name}` : name);
      return [name, value] as const;
    });
    // And a field of a later version, which has no row here.
    return Object.fromEntries([...fields, ["addedLater", anything(words)]]);
  }
  if ("own" in rule) {
    // Whom it is about is for the caller to say.
    const names = Object.entries(rule.own).filter(([name]) => name !== "subject");
    const own = names.map(([name, each]) => [name, filled(each, words, name)] as const);
    return Object.fromEntries([...own, ["free", filled(rule.others, words, "free")]]);
  }
  if (rule === text || field === "argumentsHash") return words.next();
  return anything(words);
}

/**
 * Every field that the rows know, with the person's words in it. `own`: the thread is the person's. Otherwise others
 * share it: messages name the person, and metadata say whom they are about.
 */
export function everyField(person: string, words: Words, own: boolean): StateFields {
  const fields = Object.fromEntries(
    Object.entries(STATE_RULES).map(([name, { rule }]) => [name, filled(rule, words, name)]),
  ) as unknown as StateFields;
  const call = fields.toolExecutions[0]?.toolCallId ?? "";
  const metadata = own
    ? { ...fields.metadata, subject: person }
    : { seat: attributed(person, fields.metadata), later: { of: [attributed(person, words.next())] } };
  return {
    ...EMPTY_FIELDS,
    ...fields,
    artifacts: { [call]: words.next(), ...fields.artifacts },
    metadata,
    messages: fields.messages.map((message) => ({
      ...message,
      metadata: { ...message.metadata, ...(!own && { subject: person }) },
    })),
    // A field of a later version.
    ...{ addedLater: anything(words) },
  };
}

/** An item with the person's words in every field that goes with its person. */
export const everyFieldOfItem = (words: Words): Readonly<Record<"value" | "metadata", unknown>> => ({
  value: filled(STORED_RULES.item["value"] ?? emptied, words),
  metadata: filled(STORED_RULES.item["metadata"] ?? emptied, words),
});

/**
 * Fills every field of threads, items and graphs with the words of one person, beside those of another. `sealed`: without
 * what people's keys do not seal, which are graphs and names.
 */
export async function fillEveryField(
  checkpointer: Checkpointer,
  store: BaseStore,
  ann: Words,
  bob: Words,
  own: boolean,
  { sealed = false }: { readonly sealed?: boolean } = {},
): Promise<void> {
  const ofAnn = { metadata: { subject: "ann" } };
  const ofBob = { metadata: { subject: "bob" } };
  const word = () => ann.next();
  const noted = (value: unknown) => (own ? value : attributed("ann", value));
  const checkpoint = () => ({
    metadata: { ...(own && { subject: "ann" }), label: noted(word()), note: noted(anything(ann)) },
  });
  const fields = everyField("ann", ann, own);
  await checkpointer.save(AgentState.fromFields(fields), "agent", checkpoint());
  // And as changes, of each kind of field.
  let state = (await checkpointer.load("agent")) ?? AgentState.create();
  state = state
    .withMessages([
      assistantMessage("", {
        ...(own ? {} : ofAnn),
        toolCalls: [{ id: "later", name: "look", arguments: { at: word() } }],
      }),
      toolMessage(word(), { ...(own ? {} : ofAnn), toolCallId: "later", toolName: "look" }),
      assistantMessage("", { ...ofBob, toolCalls: [{ id: "of bob", name: "look", arguments: { at: bob.next() } }] }),
      toolMessage(bob.next(), { ...ofBob, toolCallId: "of bob", toolName: "look" }),
    ])
    .withToolExecution({ ...fields.toolExecutions[0], ...filledExecution(ann), toolCallId: "later" })
    .withArtifact("later", word())
    .withReasoningStep({ iteration: 2, thought: word() })
    .withError({ at: 2, where: word(), message: word() })
    .withProviderState({ later: anything(ann) })
    .withMetadata({ seats: noted(anything(ann)) });
  await checkpointer.save(state, "agent", checkpoint());
  state = (await checkpointer.load("agent")) ?? state;
  const overlay = { ...(state.overlay as object), summary: word() };
  await checkpointer.save(state.with({ overlay }), "agent", checkpoint());
  if (!own) {
    state = (await checkpointer.load("agent")) ?? state;
    const error = bob.next();
    const bobs = { toolCallId: "of bob", toolName: "look", status: "failed", error } as const;
    await checkpointer.save(state.withToolExecution(bobs).withArtifact("of bob", bob.next()), "agent");
  }
  await sendEveryField(checkpointer, ann, bob, own, sealed);
  if (checkpointer.capabilities.branching) {
    await checkpointer.fork("agent", "agent-fork");
    await checkpointer.copyThread("agent", "agent-copy");
  }
  if (!sealed && checkpointer.capabilities.branching) {
    const saver = saverOf(checkpointer);
    const id = newCheckpointId();
    const inGraph = (threadId: string, data: unknown, subject: object) =>
      saver.put({ threadId, checkpointId: id, checkpointData: { channel: data }, metadata: { ...subject } });
    await inGraph("graph", anything(ann), { subject: "ann", note: word() });
    await inGraph("shared-graph", attributed("ann", anything(ann)), { note: attributed("ann", word()) });
    for (const threadId of ["graph", "shared-graph"]) {
      const value = threadId === "graph" ? anything(ann) : attributed("ann", anything(ann));
      await saver.putWrites({ threadId, checkpointId: id, taskId: "task", writes: [["channel", value]] });
    }
  }
  await putEveryField(store, ann, bob, sealed);
}

/** What waits in the mailbox: a signal of every form, each with the person's words in every field. */
async function sendEveryField(
  checkpointer: Checkpointer,
  ann: Words,
  bob: Words,
  own: boolean,
  sealed: boolean,
): Promise<void> {
  const message = filled(USER_MESSAGE, ann) as UserMessage;
  const metadata = { ...message.metadata, ...(!own && { subject: "ann" }) };
  const ofAnn: readonly Signal[] = [
    { message: { ...message, metadata } },
    { answer: { id: "look", response: anything(ann) } },
    { answer: { id: "look", decline: ann.next() } },
    { result: { toolCallId: "later", result: anything(ann) } },
    { result: { toolCallId: "later", error: ann.next() } },
    { cancel: ann.next() },
  ];
  for (const signal of ofAnn) await checkpointer.send("agent", signal);
  if (own) return;
  await checkpointer.send("agent", { message: userMessage(bob.next(), { metadata: { subject: "bob" } }) });
  // Whose a call is, is sealed with what waits for it until it was answered; this one was.
  if (!sealed) await checkpointer.send("agent", { result: { toolCallId: "of bob", result: bob.next() } });
}

const { each: MESSAGES } = STATE_RULES.messages.rule as { readonly each: Variants };
const USER_MESSAGE: Rule = MESSAGES.variants["user"] ?? emptied;

const filledExecution = (words: Words): ToolExecution =>
  (filled(STATE_RULES.toolExecutions.rule, words) as readonly ToolExecution[])[0] as ToolExecution;

async function putEveryField(store: BaseStore, ann: Words, bob: Words, sealed: boolean): Promise<void> {
  // Names lie in plain beside what is sealed.
  const name = () => (sealed ? "name" : ann.next());
  const whole = everyFieldOfItem(ann);
  const metadata = { ...(whole.metadata as object), subject: "ann" };
  await store.put(["notes", name()], name(), whole.value, { metadata });
  const memory = everyFieldOfItem(ann);
  await store.put(["memories", "users", "ann", name()], name(), memory.value, {
    metadata: memory.metadata as object as Record<string, unknown>,
  });
  const part = everyFieldOfItem(ann);
  await store.put(
    ["notes"],
    "of both",
    { ann: attributed("ann", part.value), bob: bob.next() },
    {
      metadata: { ann: attributed("ann", part.metadata), bob: bob.next() },
    },
  );
}

/** As text, with the bytes in it. */
export const storable = (value: unknown): string => withBytes(JSON.stringify(encodeValue(value, "value")));

/** A text with bytes in base64, and after it those bytes as they are. */
export const withBytes = (text: string): string =>
  `${text}\n${[...text.matchAll(/"(?:bytes|buffer)","v":"([^"]*)"/g)].map(([, bytes = ""]) => Buffer.from(bytes, "base64").toString("latin1")).join("\n")}`;

/** Everything that a checkpointer's log holds, as one text. */
export async function storedText(checkpointer: Checkpointer): Promise<string> {
  const log = contextOf(checkpointer)?.log;
  if (log === undefined) throw new Error("not over a log");
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.listThreads({ prefix: "", limit: 100, ...(cursor !== undefined && { cursor }) });
    for (const { threadId } of page.items.filter(isReadable)) {
      let before: number | undefined;
      for (;;) {
        const options = { limit: 100, ...(before !== undefined && { before }) };
        const records = (await log.readRecords(threadId, options))?.records ?? [];
        if (records.length === 0) break;
        for (const { body, ...entry } of records) {
          seen.push(
            JSON.stringify(entry),
            withBytes(entry.metadata ?? ""),
            withBytes(Buffer.from(body).toString("latin1")),
          );
        }
        before = records[0]?.seq;
      }
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return seen.join("\n");
}

export const wordsIn = (text: string, words: Words): readonly string[] =>
  words.all.filter((word) => text.includes(word));

export const missingIn = (text: string, words: Words): readonly string[] =>
  words.all.filter((word) => !text.includes(word));
