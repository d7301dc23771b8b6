import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { CoreAgent } from "../../src/agent/agent.ts";
import type { Run } from "../../src/agent/run.ts";
import type { Model } from "../../src/models/model.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A service of `node:http` that says "hi" in thread "t", or follows it. */
async function serve(
  agent: CoreAgent,
  began: (run: Run, response: ServerResponse) => void = () => undefined,
): Promise<string> {
  server = createServer((request, response) => {
    if (request.url === "/follow") return void agent.thread("t").pipe(response);
    const run = agent.run("hi", { threadId: "t" });
    began(run, response);
    run.pipe(response).catch(() => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answerOf = (url: string): Promise<IncomingMessage> => new Promise((resolve) => get(url, resolve));

test("a run is piped into the response of node:http as useChat reads it", async () => {
  const url = await serve(agentOf({ model: scriptedModel(["hello"]), checkpointer: new MemoryStore().open() }));
  const response = await fetch(url);
  expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  const events = (await response.text()).trim().split("\n\n");
  expect(events.at(-1)).toBe("data: [DONE]");
  expect(events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)).type)).toEqual([
    "start",
    "start-step",
    "text-start",
    "text-delta",
    "text-end",
    "finish-step",
    "finish",
  ]);
  expect((await fetch(`${url}/follow`)).status).toBe(204);
});

test("a client that leaves costs nothing: the run goes on to its end", async () => {
  const hold = gate();
  let run: Run | undefined;
  const agent = agentOf({
    model: scriptedModel([
      async () => {
        await hold.opened;
        return "hello";
      },
    ]),
    checkpointer: new MemoryStore().open(),
  });
  const url = await serve(agent, (begun) => {
    run = begun;
  });
  const response = await answerOf(url);
  response.destroy();
  hold.open();
  expect((await run)?.text).toBe("hello");
});

test("what a client does not read is not written for it: one part waits, and the others stay where they are", async () => {
  const PARTS = 400;
  const part = "x".repeat(64 * 1024);
  const model: Model = {
    id: "talkative",
    async *stream() {
      for (let count = 0; count < PARTS; count++) yield { type: "text-delta", part: 0, text: part };
      yield { type: "finish", reason: "stop", usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 } };
    },
  };
  let run: Run | undefined;
  let served: ServerResponse | undefined;
  const url = await serve(agentOf({ model, checkpointer: new MemoryStore().open() }), (begun, response) => {
    [run, served] = [begun, response];
  });
  const response = await answerOf(url);
  expect((await run)?.text).toHaveLength(PARTS * part.length);
  expect(served?.writableLength).toBeLessThan(2 * part.length);
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  expect(bytes).toBeGreaterThan(PARTS * part.length);
});
