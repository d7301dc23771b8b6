import { spawn } from "node:child_process";
import { backendOf } from "../../../backends/open.ts";
import { openStore } from "../../../backends/open-store.ts";
import type { Checkpointer } from "../../../checkpoint/checkpointer.ts";
import { StateError } from "../../../errors.ts";
import { redact } from "../../../internal/redact.ts";
import { sleep } from "../../../internal/time.ts";
import { CorePersonalData } from "../../../session/personal-data.ts";
import type { Store } from "../../../store/store.ts";
import { startStudio } from "../../../studio/studio-server.ts";
import type { CommandCall } from "../../command.ts";
import { caseLines } from "../../doctor/in-studio.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { visible } from "../../output/visible.ts";
import { storeUrlOf } from "../../store-url.ts";
import { versionOfPackage } from "../../version.ts";

/** A timer cannot wait longer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Serves the page until it is told to end; Ctrl-C is how one ends it, so it is done then. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, world, note, stores } = call;
  const [mayWrite, mayDelete] = [options.flag("write"), options.flag("allow-delete")];
  if (mayDelete && !mayWrite) throw new UsageError("--allow-delete goes with --write");
  const access = mayWrite ? "write" : "read";
  const checkpointer = await call.open(access);
  await checkpointer.connect();
  const url = stores[0] ?? "";
  const openItems = backendOf(url).store === undefined ? undefined : (): Promise<Store> => openStore(url, { access });
  const line = (text: string): void => {
    void note(text).catch(() => undefined);
  };
  const port = options.count("port", 8421, 0, 65_535);
  const studio = await startStudio({
    checkpointer,
    storeName: redact(visible(url)),
    mayWrite,
    mayDelete,
    ...(openItems !== undefined && { openItems }),
    ...(mayWrite && { provesCases: (signal) => caseLines(call, checkpointer, signal) }),
    ...peopleFor(call, checkpointer, openItems),
    cacheBytes: options.count("cache-mb", 256, 1, 100_000) * 1024 * 1024,
    version: await versionOfPackage(),
    now: world.now,
    port,
    note: line,
  });
  try {
    if (port !== 0 && studio.port !== port) await note(`port ${port} is taken; ${studio.port} was free`);
    await printer.facts([["url", studio.url]], { url: studio.url, port: studio.port });
    await note(
      mayWrite ? "this Studio may change the store" : "this Studio only looks; --write lets it change the store",
    );
    if (!options.flag("no-open") && world.stdout.isTerminal) openBrowser(studio.url);
    while (!world.signal.aborted) await sleep(LONGEST_MS, world.signal).catch(() => undefined);
  } finally {
    await studio.close();
  }
  return EXIT.done;
}

const SHORTEST_KEY = 32;

/** Looking for a person needs no key; erasing needs the one that signs receipts, and a place for them. */
function peopleFor(
  { options, world }: CommandCall,
  checkpointer: Checkpointer,
  openItems: (() => Promise<Store>) | undefined,
): { readonly people: CorePersonalData; readonly canErase: boolean } {
  const { HOLDFAST_ERASURE_KEY: key, HOLDFAST_ERASURE_LEDGER: remembered } = world.env;
  const ledger = options.text("ledger") ?? remembered;
  if (ledger !== undefined && (key ?? "").length < SHORTEST_KEY) {
    throw new UsageError(`--ledger needs HOLDFAST_ERASURE_KEY, a secret of at least ${SHORTEST_KEY} characters`);
  }
  const canErase = ledger !== undefined && options.flag("allow-delete");
  let opened: Promise<{ checkpointers: Checkpointer[]; stores: Store[]; ledger: Store }> | undefined;
  const openAll = async (): Promise<{ checkpointers: Checkpointer[]; stores: Store[]; ledger: Store }> => ({
    checkpointers: [checkpointer],
    stores: openItems === undefined ? [] : await present(openItems),
    // Looking needs no ledger, but the class requires one.
    ledger: await openStore(canErase ? storeUrlOf(ledger, world.env) : "memory:"),
  });
  const open = (): ReturnType<typeof openAll> => {
    opened ??= openAll();
    return opened;
  };
  const people = new CorePersonalData({ key: key ?? "-".repeat(SHORTEST_KEY), now: world.now, open });
  return { people, canErase };
}

/** A store that holds no items yet holds nothing about any person. */
async function present(openItems: () => Promise<Store>): Promise<Store[]> {
  const store = await openItems();
  try {
    await store.listNamespaces({ limit: 1 });
    return [store];
  } catch (error) {
    await store.close();
    if (StateError.is(error) && error.code === "NOT_FOUND") return [];
    throw error;
  }
}

/** Where there is no browser to open, the address is printed already. */
function openBrowser(url: string): void {
  const [command, ...args] =
    process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  const child = spawn(command ?? "", [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
