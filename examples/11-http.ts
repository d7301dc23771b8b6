/**
 * Threads that another machine keeps: a service in front of a database, two
 * programs that know its address and a token, and a token that may do less.
 *
 *   npx tsx examples/11-http.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, StateError } from "holdfast";
import { HTTPCheckpointer } from "holdfast/http";
import { createToken, serve } from "holdfast/server";
import { sqliteCheckpointer } from "holdfast/sqlite";
import { ruleModel } from "holdfast/testing";

const model = ruleModel([
  { when: /my name is (\w+)/i, answer: ({ match }) => `Hello ${match?.[1]}.` },
  { when: /who am i/i, answer: ({ recall }) => `You said: ${recall() ?? "nothing yet"}` },
]);

async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (StateError.is(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error("this should have been refused");
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-http-"));
try {
  // The service. It keeps the hashes of tokens; the tokens themselves go to the clients.
  const [acme, globex, readOnly] = [createToken(), createToken(), createToken()];
  await using checkpointer = sqliteCheckpointer({ path: join(folder, "agents.db") });
  await using service = await serve({
    checkpointer,
    port: 0,
    auth: {
      tokens: [
        { sha256: acme.sha256, tenant: "acme", scopes: ["threads:read", "threads:write"] },
        { sha256: globex.sha256, tenant: "globex", scopes: ["threads:read", "threads:write", "threads:delete"] },
        { sha256: readOnly.sha256, tenant: "acme", scopes: ["threads:read"] },
      ],
    },
  });
  console.log(`The service listens on ${service.url.replace(/:\d+$/, ":…")}, in front of SQLite.`);

  const open = (token: string): HTTPCheckpointer => new HTTPCheckpointer({ baseUrl: service.url, token });

  await using first = open(acme.token);
  const { durability } = await first.connect();
  console.log(`What it can is what the storage behind it can: durability ${durability}.`);
  await new Agent({ model, checkpointer: first }).run("My name is Ada.", { threadId: "chat" });

  console.log("Another program, the same thread:");
  await using second = open(acme.token);
  const { text } = await new Agent({ model, checkpointer: second }).run("Who am I?", { threadId: "chat" });
  console.log(`  ${text}`);

  console.log("Another tenant, the same thread id:");
  await using other = open(globex.token);
  console.log(`  ${(await other.load("chat")) === undefined ? "there is no such thread" : "a leak"}`);

  console.log("What a token may not, the service refuses:");
  await using reader = open(readOnly.token);
  console.log(`  ${(await reader.load("chat"))?.messages.length} messages can be read`);
  console.log(`  ${await refusalOf(reader.delete("chat"))}`);
  console.log(`  ${await refusalOf(first.vacuum({ keepLast: 1 }))}`);
} finally {
  await rm(folder, { recursive: true });
}
