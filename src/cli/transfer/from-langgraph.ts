import { assertPeers } from "../../adapters/langgraph/peers.ts";
import { reasonOf, StateError } from "../../errors.ts";
import { globMatcher } from "../../internal/glob.ts";
import { assertPeerVersion, importPeer, isMissing } from "../../internal/import-peer.ts";
import { redact } from "../../internal/redact.ts";
import type { CommandCall } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-codes.ts";
import { plural } from "../output/wording.ts";
import { secretsIn } from "../store-url.ts";
import type { ThreadFailure } from "./moving.ts";
import { Progress } from "./progress.ts";

/** LangGraph's own checkpointers, as far as they are used here. */
type TheirSaver = Parameters<typeof import("../../adapters/langgraph/moving-in.ts").copyGraphThreads>[0] & {
  end?(): Promise<void>;
};

const RANGES = {
  "@langchain/langgraph-checkpoint-postgres": ">=1 <2",
  "@langchain/langgraph-checkpoint-sqlite": ">=1 <2",
  "better-sqlite3": ">=12.8 <14",
} as const;

async function peer<Module>(name: keyof typeof RANGES): Promise<Module> {
  // An old one may fail to load.
  if (name.startsWith("@langchain/")) assertPeerVersion(name, RANGES[name]);
  return importPeer(name, RANGES[name]);
}

export const isLangGraphs = (url: string): boolean => /^langgraph\+/i.test(url);

/** Copies threads out of the tables of LangGraph's own checkpointers, and compares each. Nothing is written there. */
export async function copyFromLangGraph(call: CommandCall): Promise<ExitCode> {
  const { stores, given, options, note, world, printer } = call;
  const isDry = options.flag("dry-run");
  for (const name of ["freeze", "cut-over", "jobs", "bwlimit", "verify"]) {
    if (options.flag(name) || options.text(name) !== undefined)
      throw new UsageError(`--${name} is not for threads of LangGraph's own checkpointers`);
  }
  const langgraph = await adapter();
  const onConflict = options.text("on-conflict") ?? "fail";
  const source = await opened(stores[0] ?? "");
  const progress = new Progress(call);
  const totals = { threads: 0, copied: 0, thereAlready: 0, skipped: 0, checkpoints: 0, failed: 0 };
  const failed = async ({ threadId, code, message }: ThreadFailure): Promise<void> => {
    totals.failed++;
    await progress.clear();
    await note(`${threadId ?? "a thread"}  ${code}  ${message}`);
  };
  try {
    const checkpointer = await call.open(isDry ? "read" : "create", 1);
    const target = langgraph.toLangGraphSaver(checkpointer);
    const matches = globMatcher(given["pattern"] ?? "*");
    for (const threadId of await threadsIn(langgraph.sourceThreads, source, matches)) {
      world.signal.throwIfAborted();
      totals.threads++;
      const move = () => langgraph.copyGraphThreads(source, target, { threadIds: [threadId], dryRun: isDry });
      let { threads, checkpoints, thereAlready, skipped } = await move();
      if (skipped[0]?.code === "CONFLICT" && onConflict === "replace") {
        if (!isDry) await checkpointer.delete(threadId);
        ({ threads, checkpoints, thereAlready, skipped } = isDry ? { ...NOTHING, threads: 1 } : await move());
      }
      totals.copied += threads;
      totals.checkpoints += checkpoints;
      totals.thereAlready += thereAlready;
      for (const each of skipped) {
        if (each.code === "CONFLICT" && onConflict === "skip") totals.skipped++;
        else await failed(each);
      }
      await progress.show(() => `${plural(totals.threads, "thread")}, ${plural(totals.checkpoints, "checkpoint")}`);
    }
  } finally {
    await progress.clear();
    await source.end?.();
    if (world.signal.aborted)
      await note("stopped; run the same command again to go on where it stopped").catch(() => undefined);
  }
  const { threads, copied, thereAlready, skipped, checkpoints, failed: lost } = totals;
  await printer.facts(
    [
      ["threads", threads],
      [isDry ? "would copy" : "copied", `${plural(copied, "thread")}, ${plural(checkpoints, "checkpoint")}`],
      ["there already", thereAlready],
      ["skipped", skipped === 0 ? undefined : skipped],
      ["not copied", lost],
    ],
    { ...totals, dryRun: isDry },
  );
  return lost === 0 ? EXIT.done : EXIT.inPart;
}

/** What is loaded here names LangGraph's packages, which must lie where Node finds them from this file. */
async function adapter() {
  await assertPeers();
  try {
    return {
      ...(await import("../../adapters/langgraph/moving-in.ts")),
      ...(await import("../../adapters/langgraph/saver.ts")),
      ...(await import("../../adapters/langgraph/source-ids.ts")),
    };
  } catch (cause) {
    const name = ["@langchain/core", "@langchain/langgraph-checkpoint"].find((each) => isMissing(cause, each));
    if (name === undefined) throw cause;
    const message = `the package "${name}" is in this folder, and holdfast runs from another one: npm install holdfast here, then the same command again`;
    throw new StateError("MISSING_DEPENDENCY", message, { cause });
  }
}

async function opened(url: string): Promise<TheirSaver> {
  const inner = url.replace(/^langgraph\+/i, "");
  try {
    if (/^sqlite:/i.test(inner)) return await openedSqlite(inner.slice("sqlite:".length));
    if (/^postgres(ql)?:/i.test(inner)) return await openedPostgres(inner);
  } catch (error) {
    if (StateError.is(error)) throw error;
    throw new StateError("UNAVAILABLE", redact(reasonOf(error), secretsIn(url)));
  }
  throw new UsageError("LangGraph's own stores are langgraph+postgres://… and langgraph+sqlite:./file.db");
}

/** For reading: their saver makes its tables where there are none. */
async function openedSqlite(path: string): Promise<TheirSaver> {
  type Database = new (path: string, options: object) => object;
  const { default: Database } = await peer<{ default: Database }>("better-sqlite3");
  const { SqliteSaver } = await peer<{ SqliteSaver: new (database: object) => TheirSaver }>(
    "@langchain/langgraph-checkpoint-sqlite",
  );
  try {
    return new SqliteSaver(new Database(path, { readonly: true, fileMustExist: true }));
  } catch (error) {
    throw new StateError(
      "NOT_FOUND",
      `there is no store of LangGraph's in ${JSON.stringify(path)}: ${reasonOf(error)}`,
    );
  }
}

async function openedPostgres(url: string): Promise<TheirSaver> {
  type Saver = { fromConnString(url: string, options: object): TheirSaver };
  const { PostgresSaver } = await peer<{ PostgresSaver: Saver }>("@langchain/langgraph-checkpoint-postgres");
  const place = new URL(url);
  const schema = place.searchParams.get("schema");
  place.searchParams.delete("schema");
  return PostgresSaver.fromConnString(place.href, schema === null ? {} : { schema });
}

async function threadsIn(
  sourceThreads: (source: TheirSaver) => Promise<readonly string[]>,
  source: TheirSaver,
  matches: (threadId: string) => boolean,
): Promise<readonly string[]> {
  try {
    return (await sourceThreads(source)).filter(matches);
  } catch (error) {
    throw new StateError("UNAVAILABLE", `LangGraph's store cannot be read: ${reasonOf(error)}`);
  }
}

const NOTHING = { checkpoints: 0, thereAlready: 0, skipped: [] } as const;
