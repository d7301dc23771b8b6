import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import type { ListedThread } from "../../src/checkpoint/log/thread-log.ts";
import { MOST_ANSWER_BYTES, ROUTES, type RouteName } from "../../src/studio/routes.ts";
import { encodeSegment } from "../../src/wire/names.ts";
import { type OpenedStudio, openStudio } from "./opened-studio.ts";
import { fillStory, StoryClock } from "./story-store.ts";

interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** As it is told, with no client that would mend or refuse it. */
function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, method, path, headers }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (part: string) => {
        text += part;
        // A stream never ends by itself: its beginning says that it was let in.
        if (incoming.headers["content-type"] === "application/x-ndjson") asked.destroy();
      });
      incoming.on("close", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
      incoming.on("error", () => undefined);
    });
    asked.on("error", (error) => (asked.destroyed ? undefined : reject(error)));
    asked.end(body);
  });
}

const checkpointer = new MemoryCheckpointer();
let looking: OpenedStudio;
let writing: OpenedStudio;
let deleting: OpenedStudio;
beforeAll(async () => {
  await fillStory(checkpointer, new StoryClock());
  looking = await openStudio(checkpointer);
  writing = await openStudio(checkpointer, { mayWrite: true });
  deleting = await openStudio(checkpointer, { mayWrite: true, mayDelete: true });
});
afterAll(async () => {
  for (const each of [looking, writing, deleting]) await each.close();
  await checkpointer.close();
});

/** Where every thread ends. */
async function allTails(): Promise<string> {
  const log = contextOf(checkpointer)?.log;
  const { items } = (await log?.listThreads({ prefix: "", limit: 1000 })) ?? { items: [] };
  const threads: readonly ListedThread[] = items;
  const tails = await Promise.all(
    threads.filter(isReadable).map(async ({ threadId }) => [threadId, (await log?.tail(threadId))?.entry.writeId]),
  );
  return JSON.stringify(tails);
}

const QUERIES: Partial<Record<RouteName, string>> = {
  diff: "?a=trip-42&b=billing-7",
  search: "?words=cheaper",
  find: "?words=cheaper",
  value: "?path=%5B%22messages%22%5D",
  text: "?path=%5B%22messages%22%2C0%2C%22content%22%5D",
};

const pathOf = (name: RouteName): string => {
  const thread = name === "graph" ? "research-graph" : "trip-42";
  return `/api/${ROUTES[name].path.replace("{thread}", encodeSegment(thread))}${QUERIES[name] ?? ""}`;
};

const NAMES = Object.keys(ROUTES) as RouteName[];
const hostOf = ({ studio }: OpenedStudio): string => `127.0.0.1:${studio.port}`;

/** A request as the page makes it, with something changed. */
function ask(
  opened: OpenedStudio,
  name: RouteName,
  change: Record<string, string | undefined> = {},
  more: { method?: string; body?: string } = {},
): Promise<Sent> {
  const { method } = ROUTES[name];
  const usual: Record<string, string | undefined> = {
    host: hostOf(opened),
    authorization: `Bearer ${opened.studio.token}`,
    "sec-fetch-site": "same-origin",
    ...(method === "POST" && { "content-type": "application/json", origin: `http://${hostOf(opened)}` }),
    ...change,
  };
  const headers = Object.fromEntries(
    Object.entries(usual).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return send(
    opened.studio.port,
    more.method ?? method,
    pathOf(name),
    headers,
    more.body ?? (method === "POST" && more.method === undefined ? "{}" : undefined),
  );
}

const OTHER_TOKEN = `Bearer hf_${"x".repeat(43)}`;

const REFUSED: readonly [what: string, status: number, change: Record<string, string | undefined>][] = [
  ["no token", 401, { authorization: undefined }],
  ["another token", 401, { authorization: OTHER_TOKEN }],
  ["another Host", 403, { host: "studio.example" }],
  ["a rebound Host with the right port", 403, { host: "attacker.example:8421" }],
  ["a loopback Host with another port", 403, { host: "127.0.0.1:1" }],
  ["another Origin", 403, { origin: "https://attacker.example" }],
  ["the Origin of another port", 403, { origin: "http://127.0.0.1:1" }],
  ["a null Origin", 403, { origin: "null" }],
  ["a page of another site", 403, { origin: undefined, "sec-fetch-site": "cross-site" }],
  ["a page of the same site and another origin", 403, { origin: undefined, "sec-fetch-site": "same-site" }],
];

describe.each(REFUSED)("%s", (_, status, change) => {
  test("is refused on every route, and changes nothing", async () => {
    const before = await allTails();
    for (const name of NAMES) {
      const answer = await ask(deleting, name, change);
      expect([name, answer.status]).toEqual([name, status]);
      expect(answer.text, name).not.toContain("Lisbon");
    }
    expect(await allTails()).toBe(before);
  });
});

test("a POST of a type that forms can send is refused on every route, and a GET in its place", async () => {
  const before = await allTails();
  for (const name of NAMES.filter((each) => ROUTES[each].method === "POST")) {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      expect([name, (await ask(deleting, name, { "content-type": type })).status]).toEqual([name, 415]);
    }
    expect([name, (await ask(deleting, name, {}, { method: "GET" })).status]).toEqual([name, 405]);
    expect([name, (await ask(deleting, name, {}, { body: "[1" })).status]).toEqual([name, 400]);
  }
  for (const name of NAMES.filter((each) => ROUTES[each].method === "GET")) {
    const { status } = await ask(
      deleting,
      name,
      { "content-type": "application/json" },
      { method: "POST", body: "{}" },
    );
    // A path may have a route of either method.
    expect([name, [405, 404, 400, 403].includes(status)]).toEqual([name, true]);
  }
  expect(await allTails()).toBe(before);
});

test("without --write every route that writes is refused, and with it every route that deletes", async () => {
  const before = await allTails();
  for (const name of NAMES) {
    const { access } = ROUTES[name];
    const [looked, wrote] = [(await ask(looking, name)).status, (await ask(writing, name)).status];
    if (access !== "read") expect([name, looked]).toEqual([name, 403]);
    if (access === "delete") expect([name, wrote]).toEqual([name, 403]);
    if (access === "write") expect([name, wrote === 403]).toEqual([name, false]);
  }
  expect(await allTails()).toBe(before);
});

test("every route that reads answers the page, within 256 kB, and its answer may be neither cached nor framed", async () => {
  const optional: readonly RouteName[] = ["bytes", "item", "items", "namespaces", "neighbours", "inventory", "graph"];
  for (const name of NAMES.filter((each) => ROUTES[each].access === "read")) {
    const { status, headers, text } = await ask(looking, name);
    if (!optional.includes(name)) expect([name, status]).toEqual([name, 200]);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MOST_ANSWER_BYTES);
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect(headers["set-cookie"]).toBeUndefined();
  }
});

test("the page needs no token, holds no data, and has the strict policy; another Host gets nothing", async () => {
  const { port } = looking.studio;
  const page = await send(port, "GET", "/", { host: hostOf(looking) });
  expect(page.status).toBe(200);
  const policy = String(page.headers["content-security-policy"]);
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    "frame-ancestors 'none'",
  ]) {
    expect(policy).toContain(rule);
  }
  expect(policy).not.toContain("unsafe");
  expect(page.text).not.toContain("trip-42");
  expect((await send(port, "GET", "/", { host: "attacker.example" })).status).toBe(403);
  expect((await send(port, "POST", "/", { host: hostOf(looking) })).status).toBe(405);
  for (const path of ["/../package.json", "/%2e%2e/package.json", "/main.js.map", "/etc/passwd"]) {
    expect([path, (await send(port, "GET", path, { host: hostOf(looking) })).status]).toEqual([path, 404]);
  }
});

test("paths and queries that no route has are refused with a word", async () => {
  const headers = { host: hostOf(looking), authorization: `Bearer ${looking.studio.token}` };
  const { port } = looking.studio;
  const asked = async (path: string): Promise<number> => (await send(port, "GET", path, headers)).status;
  expect(await asked("/api/nothing")).toBe(404);
  expect(await asked("/api/threads/%2e%2e")).toBe(400);
  expect(await asked(`/api/threads/${encodeSegment("trip-42")}/messages?all=1`)).toBe(400);
  expect(await asked(`/api/threads/${encodeSegment("trip-42")}/messages?from=-1`)).toBe(400);
  expect(await asked(`/api/threads/${encodeSegment("absent")}/messages`)).toBe(404);
  expect(await asked("/api/threads/=!")).toBe(400);
  const proto = `/api/threads/${encodeSegment("trip-42")}/value?path=${encodeURIComponent('["__proto__"]')}`;
  expect(await asked(proto)).toBe(404);
});

test("every route that looks answers nonsense, and a part that is missing, with a refusal or an answer, and lives on", async () => {
  const headers = { host: hostOf(looking), authorization: `Bearer ${looking.studio.token}` };
  const failed: string[] = [];
  for (const { method, path, query } of Object.values(ROUTES)) {
    if (method !== "GET" || path.endsWith("/events")) continue;
    const queries = [
      "",
      ...query.flatMap((name) => ["", "absent", "-1", "0", "%00"].map((value) => `?${name}=${value}`)),
    ];
    for (const threadId of path.includes("{thread}") ? ["trip-42", "absent"] : [""]) {
      for (const asked of queries) {
        const target = `/api/${path.replace("{thread}", encodeSegment(threadId))}${asked}`;
        const { status, text } = await send(looking.studio.port, "GET", target, headers);
        // 501: the store keeps no items.
        const isFailure = status >= 500 && status !== 501;
        if (isFailure || /:"undefined"|:"NaN"/.test(text)) failed.push(`${target}: ${status} ${text.slice(0, 100)}`);
      }
    }
  }
  expect(failed).toEqual([]);
});

test("a port that is taken is left to its owner, and the next one used", async () => {
  const second = await openStudio(checkpointer, { port: looking.studio.port });
  expect(second.studio.port).not.toBe(looking.studio.port);
  await second.close();
});
