import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileCheckpointer } from "../src/backends/file/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { median, timed } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

const SAVES = 20_000;
const PAGE = 1000;
/**
 * The length of a message. Shorter than elsewhere, so that what counts is the number of
 * checkpoints.
 */
const CHARACTERS = 200;

interface LongFiles {
  readonly saves: number;
  readonly saveMs: number;
  readonly slowestSaveMs: number;
  readonly bytes: number;
  readonly allocatedBytes: number;
  readonly files: number;
  readonly historyMs: number;
  readonly statsMs: number;
  readonly searchMs: number;
  readonly openAndLoadMs: number;
  readonly verdicts: readonly Verdict[];
}

/** A thread of many saves on files, each time read by an instance that was just opened. */
export async function benchLongFiles(seed: number): Promise<LongFiles> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const open = (): FileCheckpointer => new FileCheckpointer({ directory });
  try {
    const saves = await fill(open(), seed);
    const measured = {
      saves: SAVES,
      saveMs: median(saves),
      slowestSaveMs: Math.max(...saves),
      ...sizesIn(directory),
      historyMs: await medianOf(async () => expectCount(await history(open()), SAVES)),
      statsMs: await medianOf(() => open().stats("long")),
      searchMs: await timed(() => open().search("nowhere")),
      openAndLoadMs: await medianOf(() => open().load("long")),
    };
    console.log(`\n${tableOf(measured)}`);
    return { ...measured, verdicts: judge(measured) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function fill(checkpointer: FileCheckpointer, seed: number): Promise<readonly number[]> {
  const texts = conversation(seed, 100).map(({ content }) => content.slice(0, CHARACTERS));
  const durations: number[] = [];
  let state = AgentState.create();
  for (let step = 0; step < SAVES; step++) {
    state = state.withMessage({ role: "user", content: `${step} ${texts[step % texts.length]}` });
    durations.push(await timed(() => checkpointer.save(state, "long")));
  }
  await checkpointer.close();
  return durations;
}

async function history(checkpointer: FileCheckpointer): Promise<number> {
  let [found, cursor] = [0, undefined as string | undefined];
  do {
    const page = await checkpointer.listCheckpoints("long", { limit: PAGE, ...(cursor && { cursor }) });
    found += page.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

function expectCount(found: number, wanted: number): void {
  if (found !== wanted) throw new Error(`the history listed ${found} of ${wanted} checkpoints`);
}

async function medianOf(work: () => Promise<unknown>): Promise<number> {
  const durations: number[] = [];
  for (let round = 0; round < 5; round++) durations.push(await timed(work));
  return median(durations);
}

function sizesIn(directory: string): Pick<LongFiles, "bytes" | "allocatedBytes" | "files"> {
  const all = readdirSync(directory, { recursive: true }).map((name) => statSync(join(directory, String(name))));
  const files = all.filter((one) => one.isFile());
  return {
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    allocatedBytes: all.reduce((sum, { blocks }) => sum + blocks * 512, 0),
  };
}

type Measured = Omit<LongFiles, "verdicts">;

function judge({ historyMs, bytes, allocatedBytes }: Measured): readonly Verdict[] {
  const ratio = allocatedBytes / bytes;
  return [
    verdict(`history of ${SAVES} on files listed in under 200 ms`, 200, historyMs, milliseconds(historyMs)),
    verdict("blocks on the disk at most 2x the bytes", 2, ratio, times(ratio)),
  ];
}

const tableOf = (row: Measured): string =>
  renderTable(
    ["", "files", "bytes", "allocated", "any save", "slowest", "open+load", "history", "stats", "search"],
    [
      [
        `holdfast file, ${SAVES} saves`,
        String(row.files),
        kilobytes(row.bytes),
        kilobytes(row.allocatedBytes),
        ...[row.saveMs, row.slowestSaveMs, row.openAndLoadMs, row.historyMs, row.statsMs, row.searchMs].map(
          milliseconds,
        ),
      ],
    ],
  );
