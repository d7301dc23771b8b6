/** The terminal session in docs/cli.md: three everyday tasks on a store that is made for it, with the clock held still. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { runLine } from "../../src/cli/run.ts";
import type { Output } from "../../src/cli/world.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../../src/state/message.ts";
import { between, type SyncedPart } from "./part.ts";

const MARKS = ["<!-- recorded by `npm run sync` -->", "<!-- end of the recording -->"] as const;
const NOW = Date.UTC(2026, 0, 2, 12, 0, 0);

const TASKS: readonly (readonly [title: string, lines: readonly string[]])[] = [
  [
    "List what waits for an answer, and answer it",
    ["inbox $STORE", "answer $STORE trip-42 seat --approve", "inbox $STORE"],
  ],
  [
    "Settle a call in doubt",
    ["threads $STORE --in-doubt", "settle $STORE billing-7 call-2 done --by ann --reason 'ch_31 is in the dashboard'"],
  ],
  ["Move to another store", ["copy $STORE sqlite:./new.db --cut-over", "verify sqlite:./new.db"]],
];

async function fill(path: string): Promise<void> {
  let now = NOW - 3_600_000;
  const checkpointer = sqliteCheckpointer({ path, now: () => (now += 60_000) });
  const charge = { id: "call-2", name: "charge", arguments: { euros: 40 } };
  let trip = AgentState.create().withMessage(userMessage("Book me a seat to Lisbon."));
  await checkpointer.save(trip, "trip-42", "asked");
  const approval = {
    id: "seat",
    toolCallId: "call-1",
    kind: "approval" as const,
    question: "Book 12A for 40 euros?",
    askedAt: NOW - 120_000,
  };
  trip = trip
    .withMessage(assistantMessage("", { toolCalls: [{ id: "call-1", name: "book", arguments: { seat: "12A" } }] }))
    .withToolExecution({ toolCallId: "call-1", toolName: "book", status: "waiting" })
    .withInterrupt(approval);
  await checkpointer.save(trip, "trip-42", "waiting");
  let billing = AgentState.create().withMessage(userMessage("Charge the March invoice."));
  await checkpointer.save(billing, "billing-7", "asked");
  billing = billing
    .withMessage(assistantMessage("", { toolCalls: [charge] }))
    .withToolExecution({ toolCallId: "call-2", toolName: "charge", status: "unknown", idempotencyKey: "k-7" });
  await checkpointer.save(billing, "billing-7", "in-doubt");
  await checkpointer.close();
}

/** One command, as a person sees it. */
async function typed(line: string, folder: string): Promise<string> {
  const argv = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  let shown = "";
  const write = async (text: string): Promise<void> => {
    shown += text;
  };
  const output: Output = { write, isTerminal: true, columns: 100 };
  const stdin = { isTerminal: false, chunks: async function* () {}, line: async () => "" };
  const here = process.cwd();
  process.chdir(folder);
  try {
    const env = { NO_COLOR: "1", STORE: "sqlite:./agents.db" };
    const replaced = argv.map((word) => word.replace("$STORE", "env:STORE"));
    await runLine(replaced, {
      env,
      stdout: output,
      stderr: output,
      stdin,
      now: () => NOW,
      signal: new AbortController().signal,
    });
  } finally {
    process.chdir(here);
  }
  return shown;
}

/** What is made at random, or is of the machine that recorded it. */
const steady = (text: string): string => text.replace(/\b[0-9a-f]{24}(?:-[0-9a-z]{1,10})?\b/g, "5f0c…");

async function recording(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-recording-"));
  try {
    await fill(join(folder, "agents.db"));
    const parts: string[] = [];
    for (const [title, lines] of TASKS) {
      const session: string[] = [];
      for (const line of lines) session.push(`$ holdfast ${line}`, (await typed(line, folder)).trimEnd());
      parts.push(`**${title}**\n\n\`\`\`console\n${steady(session.join("\n"))}\n\`\`\`\n`);
    }
    return parts.join("\n");
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const RECORDING: SyncedPart = {
  path: "docs/cli.md",
  source: "what the command line prints",
  write: (text) => between(text, MARKS, recording),
};
