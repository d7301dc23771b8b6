/**
 * `npm run services` starts a server of each kind that can be had here and
 * prints their URLs as lines for a shell, until Ctrl-C. With words, only those:
 * `npm run services postgres`.
 */
import { once } from "node:events";
import type { TestServer } from "../test/services/server-process.ts";
import { isServiceName, SERVICES, type ServiceName } from "../test/services/services.ts";

// Started by a person, who wants the server: what is missing is got.
process.env["HOLDFAST_INSTALL"] = "1";

const words = process.argv.slice(2);
const unknown = words.find((word) => !isServiceName(word));
if (unknown !== undefined) throw new Error(`no service "${unknown}"; there are ${Object.keys(SERVICES).join(", ")}`);

/** pgvector takes a while to build the first time, and OpenSearch to start: only where they are asked for. */
const wanted = words.length > 0 ? words.filter(isServiceName) : (["postgres", "redis"] satisfies ServiceName[]);
const servers = await Promise.all(wanted.map(start));

console.log("\n# Ctrl-C ends them and removes their data.");
const keepAlive = setInterval(() => undefined, 60_000);
await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
clearInterval(keepAlive);
await Promise.all(servers.map((server) => server?.stop()));

async function start(name: ServiceName): Promise<TestServer | undefined> {
  const { variable, howToGet, isHere, start } = SERVICES[name];
  if (!(await isHere())) return void console.log(`# no ${name} here: ${howToGet}`);
  const server = await start();
  console.log(`export ${variable}='${server.url}'`);
  return server;
}
