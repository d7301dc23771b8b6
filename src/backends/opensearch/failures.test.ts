import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { inspect } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { noticedByClients } from "../../../test/network/noticed-by-clients.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { ErrorCode } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { classify, ServerFailure } from "./classify.ts";
import { opensearchCheckpointer, opensearchIndex } from "./index.ts";

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close();
});

interface Answer {
  readonly status: number;
  readonly body: string | object;
}

/**
 * Answers that a server, or a proxy in front of it, may give to every request.
 * Without a security plugin the real server does not give them.
 */
async function answering(answer: (request: { url: string; authorization: string }) => Answer): Promise<string> {
  const server: Server = createServer((request, response) => {
    const { status, body } = answer({
      url: request.url ?? "",
      authorization: request.headers.authorization ?? "",
    });
    const type = typeof body === "string" ? "text/html" : "application/json";
    response.writeHead(status, { "content-type": type });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  opened.push({
    close: async () => {
      server.closeAllConnections();
      server.close();
      await noticedByClients();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function on(hosts: string, options: object = {}): Checkpointer {
  const checkpointer = opensearchCheckpointer({ hosts, retry: { attempts: 1 }, ...options });
  opened.push(checkpointer);
  return checkpointer;
}

const said = (text: string): AgentState => AgentState.create({ messages: [userMessage(text)] });

const failing = (type: string, reason: string, status: number): Answer => ({
  status,
  body: { error: { type, reason, root_cause: [{ type, reason }] }, status },
});

const FLOOD =
  "index [holdfast] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];";

const ANSWERS: readonly [what: string, answer: Answer, code: ErrorCode][] = [
  ["401", { status: 401, body: "Unauthorized" }, "PERMISSION_DENIED"],
  ["403", failing("security_exception", "no permissions for [indices:data/read/get]", 403), "PERMISSION_DENIED"],
  [
    "403 of a write block",
    failing("cluster_block_exception", "index blocked by: [FORBIDDEN/8/index write (api)];", 403),
    "PERMISSION_DENIED",
  ],
  ["429", failing("rejected_execution_exception", "rejected execution of coordinating operation", 429), "RATE_LIMITED"],
  ["429 of a full disk", failing("cluster_block_exception", FLOOD, 429), "STORAGE_FULL"],
  [
    "403 of a full disk",
    failing("cluster_block_exception", FLOOD.replace("TOO_MANY_REQUESTS", "FORBIDDEN"), 403),
    "STORAGE_FULL",
  ],
  ["413", { status: 413, body: "" }, "TOO_LARGE"],
  ["500", failing("exception", "something broke", 500), "UNAVAILABLE"],
  ["502", { status: 502, body: "<html>Bad Gateway</html>" }, "UNAVAILABLE"],
  ["503", failing("no_shard_available_action_exception", "No shard available for [get]", 503), "UNAVAILABLE"],
  ["504", { status: 504, body: "" }, "TIMEOUT"],
  ["404 of a proxy", { status: 404, body: "<html>no such route</html>" }, "UNAVAILABLE"],
  ["404 of the index", failing("index_not_found_exception", "no such index [holdfast]", 404), "UNAVAILABLE"],
  ["200 of a login page", { status: 200, body: "<html>Please sign in</html>" }, "UNAVAILABLE"],
  ["200 of something else's JSON", { status: 200, body: { ok: true } }, "UNAVAILABLE"],
];

describe("a failed answer is never 'no thread'", () => {
  const index = { "holdfast-1": { ...opensearchIndex(), aliases: { holdfast: {} } } };

  test.each(ANSWERS)("%s", async (_, answer, code) => {
    // The index is as it should be: only later requests fail.
    const hosts = await answering(({ url }) => (/^\/holdfast\/?$/.test(url) ? { status: 200, body: index } : answer));
    const checkpointer = on(hosts);
    const calls = {
      load: () => checkpointer.load("t"),
      exists: () => checkpointer.exists("t"),
      save: () => checkpointer.save(said("hello"), "t"),
      listThreads: () => checkpointer.listThreads(),
      listCheckpoints: () => checkpointer.listCheckpoints("t"),
      search: () => checkpointer.search("hello"),
      delete: () => checkpointer.delete("t"),
    };
    for (const [name, call] of Object.entries(calls)) await expect(call(), name).rejects.toMatchObject({ code });
  });

  test.each(ANSWERS.filter(([what]) => what !== "404 of the index"))(
    "%s, before anything is known",
    async (what, answer, code) => {
      const checkpointer = on(await answering(() => answer));
      const expected = what.includes("else's JSON") ? "INCOMPATIBLE" : code;
      await expect(checkpointer.load("t")).rejects.toMatchObject({ code: expected });
    },
  );
});

describe("one item of a bulk request that fails", () => {
  test("fails the save by its own reason", () => {
    const failure = new ServerFailure(429, { type: "cluster_block_exception", reason: FLOOD });
    expect(classify(failure)).toBe("STORAGE_FULL");
    expect(classify(new ServerFailure(503, { type: "unavailable_shards_exception", reason: "" }))).toBe("UNAVAILABLE");
    expect(classify(new ServerFailure(400, { type: "mapper_parsing_exception", reason: "" }))).toBe("INVALID_ARGUMENT");
  });
});

describe("the connection", () => {
  test("a server that is not there is UNAVAILABLE", async () => {
    await expect(on("http://127.0.0.1:1").load("t")).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  });

  test("a server that takes connections and says nothing is TIMEOUT", async () => {
    const silent = createSocketServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    opened.push(silent);
    const checkpointer = on(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, { requestTimeoutMs: 200 });
    await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "TIMEOUT", retryable: true });
  });
});

describe("secrets", () => {
  test.each([
    ["a password in the host", (hosts: string) => on(hosts.replace("//", "//app:zebra%40quokka@"))],
    ["a password", (hosts: string) => on(hosts, { auth: { username: "app", password: "zebra@quokka" } })],
    ["a token", (hosts: string) => on(hosts, { auth: { token: "zebra@quokka" } })],
  ])("%s is sent, and no error shows it, though the server repeats it", async (_, open) => {
    const heard = new Set<string>();
    const hosts = await answering(({ authorization }) => {
      heard.add(authorization);
      return failing("security_exception", `who is ${authorization}, zebra@quokka?`, 401);
    });
    const failure: unknown = await open(hosts)
      .load("t")
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "PERMISSION_DENIED" });
    const basic = Buffer.from("app:zebra@quokka").toString("base64");
    expect([[`Basic ${basic}`], ["Bearer zebra@quokka"]]).toContainEqual([...heard]);
    const shown = inspect(failure, { depth: 12, showHidden: true });
    for (const secret of ["zebra", "quokka", basic]) expect(shown).not.toContain(secret);
  });
});
