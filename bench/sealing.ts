import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStore } from "../src/backends/memory/store.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { createKeyFile, fileKeys } from "../src/sealing/keys/key-provider.ts";
import { Keyring } from "../src/sealing/keys/keyring.ts";
import { Sealing } from "../src/sealing/sealing.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import type { Plan } from "./checkpointers.ts";
import { median, medianRatio, timed } from "./statistics.ts";
import { milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const SIZES = [1_000, 100_000];
const SAVES = 60;
/** So that the code is compiled: a process that saves at all has soon saved so often. */
const WARM_UP_ROUNDS = 8;

interface Samples {
  readonly saves: number[];
  readonly loads: number[];
}

/** Plain, sealed with the tenant's key, and sealed with the key of the person that everything is about. */
const KINDS = ["plain", "sealed", "sealed, about a person"] as const;

/** One save of a new message and one load of a thread of one message, sealed and plain side by side on SQLite. */
export async function benchSealing({ rounds }: Pick<Plan, "rounds">): Promise<{
  readonly measurements: readonly object[];
  readonly verdicts: readonly Verdict[];
}> {
  const rows: string[][] = [];
  const measurements: object[] = [];
  const verdicts: Verdict[] = [];
  for (const bytes of SIZES) {
    const samples = await measured(bytes, rounds);
    const plain = samples.get("plain") as Samples;
    for (const [kind, { saves, loads }] of samples) {
      const [save, load] = [medianRatio(saves, plain.saves), medianRatio(loads, plain.loads)];
      measurements.push({ bytes, kind, saveMs: median(saves), loadMs: median(loads), save, load });
      rows.push([
        `${kind}, ${bytes / 1000} KB`,
        milliseconds(median(saves)),
        times(save),
        milliseconds(median(loads)),
        times(load),
      ]);
      if (kind === "plain") continue;
      const target = `a save of ${bytes / 1000} KB, ${kind}, at most 1.15x a plain one`;
      verdicts.push(verdict(target, 1.15, save, times(save)));
    }
  }
  console.log(`\n${renderTable(["SQLite", "save", "of plain", "load", "of plain"], rows)}`);
  return { measurements, verdicts };
}

async function measured(bytes: number, rounds: number): Promise<ReadonlyMap<(typeof KINDS)[number], Samples>> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-sealing-"));
  const samples = new Map(KINDS.map((kind) => [kind, { saves: [], loads: [] } as Samples]));
  try {
    const keyFile = join(folder, "outer.key");
    await createKeyFile(keyFile);
    const keyring = await Keyring.create({ store: new InMemoryStore(), provider: fileKeys(keyFile) });
    const sealing = new Sealing({ keyring });
    const open = (kind: (typeof KINDS)[number]): Checkpointer =>
      sqliteCheckpointer({ path: join(folder, `${kind}.db`), ...(kind !== "plain" && { sealing }) });
    const opened = new Map(KINDS.map((kind) => [kind, open(kind)]));
    for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
      for (let save = 0; save < SAVES; save++) {
        for (const [kind, checkpointer] of opened) {
          const subject = kind === "sealed, about a person" ? { metadata: { subject: "user-1" } } : {};
          const text = `${round} ${save} ${"word ".repeat(Math.ceil(bytes / 5))}`.slice(0, bytes);
          const state = AgentState.create(subject).withMessage(userMessage(text));
          const threadId = `${round}-${save}`;
          const saveMs = await timed(() => checkpointer.save(state, threadId));
          const loadMs = await timed(() => checkpointer.load(threadId));
          if (round < 0) continue;
          samples.get(kind)?.saves.push(saveMs);
          samples.get(kind)?.loads.push(loadMs);
        }
      }
    }
    for (const checkpointer of opened.values()) await checkpointer.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
  return samples;
}
