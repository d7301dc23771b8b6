import { sleep } from "../../../internal/time.ts";
import type { TokenEntry } from "../../../server/request/authentication.ts";
import { serve } from "../../../server/serve.ts";
import type { Store } from "../../../store/store.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { fileText, storeUrlOf } from "../../store-url.ts";

/** A timer cannot wait longer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Serves until it is told to end; Ctrl-C is how one ends it, so it is done then. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, world, note } = call;
  const host = options.text("host");
  const hosts = options.list("allowed-host");
  const file = options.text("tokens");
  const tokens = file === undefined ? undefined : tokensIn(await fileText(file));
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "create");
  await checkpointer.connect();
  const items = options.text("items");
  const store = items === undefined ? undefined : await itemsAt(call, storeUrlOf(items, world.env), isDry);
  if (isDry) {
    await printer.facts(
      [
        ["would serve", store === undefined ? "threads" : "threads and items"],
        ["tokens", tokens?.length],
      ],
      { dryRun: true, tokens: tokens?.length ?? 0, items: store !== undefined },
    );
    return EXIT.done;
  }
  const service = await serve({
    checkpointer,
    ...(store !== undefined && { store }),
    port: options.count("port", 8420, 0, 65_535),
    ...(host !== undefined && { host }),
    ...(hosts.length > 0 && { allowedHosts: hosts }),
    ...(tokens !== undefined && { auth: { tokens } }),
    onFailure: ({ instance, operation, error }) => {
      void note(`${instance} ${operation}: ${error instanceof Error ? error.message : String(error)}`).catch(
        () => undefined,
      );
    },
  });
  try {
    await printer.facts([["url", service.url]], { url: service.url, port: service.port });
    if (tokens === undefined) await note("without --tokens, every program on this machine may do everything");
    while (!world.signal.aborted) await sleep(LONGEST_MS, world.signal).catch(() => undefined);
  } finally {
    await service.close();
  }
  return EXIT.done;
}

/** Connects before the address is printed. */
async function itemsAt(call: CommandCall, url: string, isDry: boolean): Promise<Store> {
  const store = await call.openItems(isDry ? "read" : "write", url);
  await store.connect();
  return store;
}

/** A JSON list, or an entry a line. The text itself is never shown. */
function tokensIn(text: string): readonly TokenEntry[] {
  try {
    const lines = text.trim();
    if (lines.startsWith("[")) return JSON.parse(lines) as TokenEntry[];
    return lines
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line) as TokenEntry);
  } catch {
    throw new UsageError(
      "--tokens names a file with a JSON list of entries, or one entry a line, as holdfast token prints them",
    );
  }
}
