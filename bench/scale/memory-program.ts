/** A process that serves a number of threads: each is loaded, given one message and saved. Prints what it took. */
import { openCheckpointer } from "../../src/backends/open.ts";
import { userMessage } from "../../src/state/message.ts";
import { threadId } from "./sample-threads.ts";

const [url = "", count = "10000"] = process.argv.slice(2);

const memory = (): { readonly heap: number; readonly rss: number } => {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
};

await using checkpointer = await openCheckpointer(url);
const serve = async (from: number, to: number): Promise<void> => {
  for (let index = from; index < to; index++) {
    const state = await checkpointer.load(threadId(index));
    if (state === undefined) throw new Error(`thread ${index} is not there`);
    await checkpointer.save(state.withMessage(userMessage("served")), threadId(index));
  }
};
await serve(0, 100);
const before = memory();
await serve(100, Number(count));
const after = memory();
console.log(JSON.stringify({ before, after }));
