/**
 * migrating-program <url> <part> [stop]
 *
 * Brings `notes` to version 2 with the real runner, or opens a checkpointer, when
 * its parent says so; says how many statements that changed something it ran. With
 * `stop`, says so before the first statement with that text, and stays there.
 */
import { openCheckpointer } from "../../src/backends/open.ts";
import { retrying } from "../../src/driver/call.ts";
import { migrate } from "../../src/driver/migrations.ts";
import { notes, openPlace } from "./migrated-place.ts";
import { listen, say } from "./speaking.ts";

const [url = "", part = "", stop] = process.argv.slice(2);

say("ready");
await listen();
if (part === "checkpoints") await openAll();
else await migrateNotes();
process.disconnect();

async function openAll(): Promise<void> {
  const checkpointer = await openCheckpointer(url);
  await checkpointer.connect();
  say({ threads: (await checkpointer.listThreads()).length });
  await checkpointer.close();
}

async function migrateNotes(): Promise<void> {
  let changes = 0;
  const place = await openUntilFree((text) => {
    if (stop !== undefined && text.includes(stop)) stayHere(text);
    if (/^(CREATE|ALTER|UPDATE)/.test(text)) changes++;
  });
  const { store } = place;
  const driver = { name: "test", classify: store.classify, close: place.close };
  await retrying(driver, { attempts: 1_000, baseDelayMs: 1 }, () => migrate(store, [notes(url, 2)]));
  say({ changes });
  await place.close();
}

/** Nothing of this process goes on; its connection stays as it is. */
function stayHere(text: string): void {
  say({ at: text });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** SQLite says "busy" where ten switch to its write-ahead log at once. */
async function openUntilFree(onStatement: (text: string) => void): ReturnType<typeof openPlace> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openPlace(url, onStatement);
    } catch (error) {
      if (attempt === 1_000 || !/locked|busy/.test(String(error))) throw error;
    }
  }
}
