/**
 * saver-program <url>
 *
 * Does with a saver on a storage what it is told, one call after another, until it
 * is killed. What it is told names the method; an answer has the number of its call.
 */
import { FileCheckpointer } from "../../src/backends/file/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { StateError } from "../../src/errors.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import type { Saver } from "../../src/saver/saver.ts";
import type { SaverAnswer, SaverCall } from "../saver/killed-saver.ts";

const [url = ""] = process.argv.slice(2);
const [scheme, place = ""] = url.split(/:(.*)/s);
const checkpointer =
  scheme === "file"
    ? new FileCheckpointer({ directory: place, now: () => 0 })
    : sqliteCheckpointer({ path: place, now: () => 0 });
const savers = new Map<number, Saver>();

async function answer({ number, saver: which, method, request }: SaverCall): Promise<SaverAnswer> {
  const saver = savers.get(which) ?? saverOf(checkpointer, { slackBytes: 16 * 1024 });
  savers.set(which, saver);
  try {
    if (method !== "listCheckpoints") {
      return { number, value: await (saver[method] as (given: unknown) => Promise<unknown>).call(saver, request) };
    }
    const listed = await saver.listCheckpoints(request as object);
    return { number, value: await Promise.all(listed.map((each) => each.load())) };
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    return { number, failed: { code: error.code, message: error.message } };
  }
}

process.on("message", async (call: SaverCall) => {
  const said = await answer(call);
  // The parent may have ended it meanwhile.
  if (process.connected) process.send?.(said);
});
process.send?.({ number: 0 } satisfies SaverAnswer);
