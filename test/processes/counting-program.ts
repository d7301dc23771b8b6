/**
 * counting-program <url> <times>
 *
 * Counts one counter of a store on, and says after each time what it counted.
 */
import { openStore } from "../../src/backends/open-store.ts";
import { listen, say } from "./speaking.ts";

const [url = "", times] = process.argv.slice(2);
const store = await openStore(url);

say("ready");
await listen();
for (let time = 0; time < Number(times); time++) {
  const item = await store.update<number>(["limits"], "requests", (count = 0) => count + 1);
  say(item?.value);
}
await store.close();
process.disconnect();
