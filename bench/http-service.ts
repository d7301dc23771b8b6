/** A service in a process of its own: prints where it is and ends with the other end of its input. `argv`: a store's URL, the hash of a token. */
import { openCheckpointer } from "../src/backends/open.ts";
import { serve } from "../src/entry/server.ts";
import { SCOPES } from "../src/wire/protocol.ts";

const [url = "memory:", sha256 = ""] = process.argv.slice(2);
const checkpointer = await openCheckpointer(url);
const auth = { tokens: [{ sha256, scopes: SCOPES }] };
const service = await serve({ checkpointer, auth, port: 0, rateLimit: false });
console.log(service.url);
process.stdin.resume().on("end", async () => {
  await service.close();
  await checkpointer.close();
});
