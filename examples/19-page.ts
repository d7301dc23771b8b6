/**
 * A page that talks to an agent in the AI SDK's protocol, loses its connection
 * in the middle, and reconnects to another server of the same threads.
 *
 *   npx tsx examples/19-page.ts            plays a page, and ends
 *   npx tsx examples/19-page.ts serve      a small page on http://127.0.0.1:8080
 *
 * Kill the server while the page shows a percentage, and start it again with the same
 * folder: it resumes the turn, and the page shows it to its end.
 *
 *   npx tsx examples/19-page.ts serve 8080 ./threads 2000
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, tool } from "holdfast";
import { fromUIMessage } from "holdfast/ai-sdk";
import { ruleModel } from "holdfast/testing";

const lookUp = (pauseMs: number) =>
  tool({
    name: "look_up",
    effect: "pure",
    execute: async (_, { progress }) => {
      for (const percent of [25, 50, 75]) {
        progress({ percent });
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      return "p99 was 2.1 s at 14:02";
    },
  });

function openAgent(folder: string, pauseMs = 150): Agent {
  const rule = { when: /./, toolCalls: [{ name: "look_up" }], answer: "Checkout was slow at 14:02." };
  const checkpointer = `sqlite:${join(folder, "agents.db")}`;
  return new Agent({ model: ruleModel([rule]), tools: [lookUp(pauseMs)], checkpointer });
}

/** A request of the web's own kind in, a Response out: any framework's route looks like this. */
async function answer(agent: Agent, request: IncomingMessage): Promise<Response> {
  const [, , , id = "demo", what] = (request.url ?? "").split("/");
  if (request.url === "/") {
    const page = await readFile(new URL("./19-page.html", import.meta.url));
    return new Response(page, { headers: { "content-type": "text/html" } });
  }
  if (what === "messages") return Response.json(await agent.thread(id).uiMessages());
  if (request.method === "GET") return agent.thread(id).toResponse();
  let body = "";
  for await (const piece of request) body += piece;
  const { id: threadId, messages } = JSON.parse(body) as { id: string; messages: unknown[] };
  return agent.run(fromUIMessage(messages.at(-1)), { threadId }).toResponse();
}

async function send(from: Response, to: ServerResponse): Promise<void> {
  to.writeHead(from.status, Object.fromEntries(from.headers));
  for await (const piece of from.body ?? []) to.write(piece);
  to.end();
}

async function listen(agent: Agent, port: number): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    answer(agent, request).then(
      (given) => send(given, response),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function* chunksOf(response: Response): AsyncGenerator<{ type: string; [name: string]: unknown }> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece as Uint8Array, { stream: true });
    const lines = text.split("\n\n");
    text = lines.pop() ?? "";
    for (const line of lines) if (line !== "data: [DONE]") yield JSON.parse(line.slice("data: ".length));
  }
}

async function play(folder: string): Promise<void> {
  await using first = openAgent(folder);
  const one = await listen(first, 0);
  const said = { id: "m1", role: "user", parts: [{ type: "text", text: "Was checkout slow?" }] };
  const body = JSON.stringify({ id: "demo", messages: [said] });
  const begun = await fetch(`${one.url}/api/chat`, { method: "POST", body });
  for await (const chunk of chunksOf(begun)) {
    if (chunk["preliminary"] !== true) continue;
    console.log("the page sees", JSON.stringify(chunk["output"]), "and loses its connection");
    break;
  }
  // Another server of the same threads: it only reads what the first one saves.
  await using second = openAgent(folder);
  const two = await listen(second, 0);
  const again = await fetch(`${two.url}/api/chat/demo/stream`);
  console.log("the page reconnects elsewhere:", again.status);
  for await (const chunk of chunksOf(again)) {
    if (chunk.type === "start") console.log("  message", chunk["messageId"]);
    if (chunk.type === "tool-output-available") console.log("  the tool found:", chunk["output"]);
    if (chunk.type === "text-delta") console.log("  the agent says:", chunk["delta"]);
  }
  console.log("nothing is under way any longer:", (await fetch(`${two.url}/api/chat/demo/stream`)).status);
  one.close();
  two.close();
}

async function serve(port = "8080", folder?: string, pauseMs = "150"): Promise<void> {
  const agent = openAgent(folder ?? (await mkdtemp(join(tmpdir(), "holdfast-page-"))), Number(pauseMs));
  const { url } = await listen(agent, Number(port));
  console.log(`open ${url}`);
  // Resumes turns of a server that was killed; pages that ask for them are shown what follows.
  const { recovered } = await agent.recover({ olderThanMs: 0 });
  for (const { threadId, stopReason } of recovered) console.log(`went on with ${threadId}: ${stopReason}`);
}

const [command, ...words] = process.argv.slice(2);
if (command === "serve") {
  await serve(...words);
} else {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-page-"));
  await play(folder).finally(() => rm(folder, { recursive: true }));
}
