import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import type { TestServer } from "./server-process.ts";
import { isServiceName, isWanted, NOT_WANTED, requiredServices, SERVICES, type ServiceName } from "./services.ts";

/** Where a service is, or what keeps it from being there. */
export type ServiceAnswer = { readonly url: string } | { readonly missing: string };

declare module "vitest" {
  interface ProvidedContext {
    /** The address at which suites ask for services. */
    readonly serviceDesk: string;
  }
}

/**
 * Vitest's global setup: one server of a kind for the whole run, started when
 * the first suite asks for it. Suites run in other processes, so they ask over
 * loopback; a run that asks for nothing starts nothing.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  requiredServices();
  const started: Promise<TestServer>[] = [];
  const answers = new Map<ServiceName, Promise<ServiceAnswer>>();
  const answerTo = (name: ServiceName): Promise<ServiceAnswer> => {
    const answer = answers.get(name) ?? provide(name, started);
    answers.set(name, answer);
    return answer;
  };
  const desk = createServer((request, response) => void respond(request, response, answerTo));
  desk.listen(0, "127.0.0.1").unref();
  await once(desk, "listening");
  project.provide("serviceDesk", `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  return async () => {
    desk.close();
    for (const server of started) await (await server.catch(() => undefined))?.stop();
  };
}

async function provide(name: ServiceName, started: Promise<TestServer>[]): Promise<ServiceAnswer> {
  const { variable, howToGet, isHere, start } = SERVICES[name];
  if (!isWanted(name)) return { missing: NOT_WANTED };
  const url = process.env[variable];
  if (url !== undefined && url !== "") return { url };
  if (await isHere()) {
    const server = start();
    started.push(server);
    return { url: (await server).url };
  }
  console.log(`skipped: every suite that needs ${name}: ${howToGet}`);
  return { missing: howToGet };
}

async function respond(
  { url = "" }: IncomingMessage,
  response: ServerResponse,
  answerTo: (name: ServiceName) => Promise<ServiceAnswer>,
): Promise<void> {
  try {
    const name = url.slice(1);
    if (!isServiceName(name)) throw new Error(`there is no service "${name}"`);
    response.end(JSON.stringify(await answerTo(name)));
  } catch (error) {
    response.writeHead(500).end(error instanceof Error ? error.message : String(error));
  }
}
