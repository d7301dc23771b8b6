import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { sqliteStore } from "../../src/backends/sqlite/store.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../../src/state/message.ts";
import { NOW } from "./fake-world.ts";

export const CORPORA = ["empty", "one", "many", "hostile"] as const;
export type Corpus = (typeof CORPORA)[number];

/** What strangers write: clipboard and title sequences, colours by one byte, directions turned, cells without end. */
export const HOSTILE_TEXTS: readonly string[] = [
  "\u001b]52;c;aGVsbG8=\u0007 clipboard",
  "\u001b]0;title\u0007\u001b[2J\u001b[1;1H screen",
  "\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007",
  "\u009b31m c1 \u0085 \u007f",
  "\u202egnp.exe\u202c bidi \u2066x\u2069",
  "a\u200bb\ufeffc zero width",
  "tab\tnewline\nreturn\r",
  `${"wide ".repeat(20_000)}`,
];
export const HOSTILE_IDS: readonly string[] = [
  "it's a 'thread'",
  "\u202eturned",
  "-x",
  "$(reboot)",
  "日本 旅行",
  "a\u0085b",
];

export interface FilledStore {
  readonly url: string;
  readonly directory: string;
  /** What the commands of a test name: a thread that is there. */
  readonly thread: string;
  dispose(): Promise<void>;
}

/** A SQLite file whose ids and times are the same in every run. */
export async function filledStore(corpus: Corpus): Promise<FilledStore> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-cli-"));
  const path = join(directory, "agents.db");
  let now = NOW - 3_600_000;
  const checkpointer = sqliteCheckpointer({ path, now: () => (now += 1000) });
  const threads = await fill(checkpointer, corpus);
  await checkpointer.close();
  return {
    url: `sqlite:${path}`,
    directory,
    thread: threads[0] ?? "not there",
    dispose: () => rm(directory, { recursive: true }),
  };
}

async function fill(checkpointer: Checkpointer, corpus: Corpus): Promise<readonly string[]> {
  await checkpointer.listThreads();
  if (corpus === "empty") {
    // The tables are made by the first use; a thread that was deleted leaves them empty.
    await checkpointer.save(AgentState.create(), "gone");
    await checkpointer.delete("gone");
    return [];
  }
  const ids = { one: ["trip-1"], many: Array.from({ length: 60 }, (_, at) => `trip-${at + 1}`), hostile: HOSTILE_IDS }[
    corpus
  ];
  for (const id of ids)
    await fillThread(checkpointer, id, corpus === "hostile" ? HOSTILE_TEXTS : ["where to?", "home"]);
  return ids;
}

/** What there is to say in a store of this kind. */
export const textsOf = (corpus: Corpus): readonly string[] =>
  ({
    empty: [],
    one: ["window seat"],
    many: Array.from({ length: 60 }, (_, at) => `seat ${at}`),
    hostile: HOSTILE_TEXTS,
  })[corpus];

const ABOUT_ANN = { metadata: { subject: "ann" } };

/** Items, memories and data about a person, beside the threads of the same file. */
export async function fillItems({ directory }: FilledStore, corpus: Corpus): Promise<void> {
  // It stands still: how often a driver asks for the time is its own matter.
  const store = sqliteStore({ path: join(directory, "agents.db"), now: () => NOW - 3_600_000 });
  // The tables are made by the first use.
  await store.put(["gone"], "gone", {});
  await store.delete(["gone"], "gone");
  for (const [at, text] of textsOf(corpus).entries()) {
    const whose = corpus === "hostile" ? (HOSTILE_IDS[at % HOSTILE_IDS.length] ?? "") : "ann";
    await store.put(["users", whose], `k${at}`, { text }, ABOUT_ANN);
    const provenance = { threadId: whose, checkpointId: "c1", message: { index: 0, role: "user" }, quote: text };
    const memory = { id: `m${at}`, type: "user", text, status: "active", validFrom: NOW - 60_000, pinned: false };
    await store.put(["memory", "users", whose, "facts"], `m${at}`, { ...memory, provenance });
  }
  await store.close();
}

async function fillThread(checkpointer: Checkpointer, id: string, texts: readonly string[]): Promise<void> {
  let state = AgentState.create();
  for (const [at, text] of texts.entries()) {
    state = state.withMessage(userMessage(`${text} please`)).withMessage(assistantMessage(text));
    await checkpointer.save(state, id, { checkpointId: `c${at + 1}`, metadata: { colour: "red", text } });
  }
  const asked = {
    id: "call-1/1",
    toolCallId: "call-1",
    kind: "question" as const,
    question: texts.join(" / ").slice(0, 300),
    askedAt: NOW - 60_000,
  };
  const waiting = state
    .withInterrupt(asked)
    .withToolExecution({ toolCallId: "call-1", toolName: "ask", status: "waiting" });
  await checkpointer.save(waiting, id, { checkpointId: "waiting", metadata: { colour: "red" } });
}
