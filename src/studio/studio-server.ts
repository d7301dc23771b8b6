import { once, setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StateError } from "../errors.ts";
import { Authentication, createToken } from "../server/request/authentication.ts";
import { Refusal } from "../server/request/refusal.ts";
import { SCOPES } from "../wire/protocol.ts";
import { admit, assertHost, type DoorRules, isForApi } from "./door.ts";
import { OPERATIONS } from "./operations.ts";
import { type PageFile, readPageFiles } from "./page-files.ts";
import { sendFile, sendJson, sendLines, sendProblem } from "./sending.ts";
import { StudioContext, type StudioOptions } from "./studio-context.ts";

export interface StudioServerOptions extends StudioOptions {
  /** Where to begin looking for a free port; 0 takes any. */
  readonly port: number;
  /** Where the built page lies. @default beside the package's code */
  readonly pageFolder?: string;
}

export interface RunningStudio {
  /** `http://127.0.0.1:8421`, without the token. */
  readonly origin: string;
  /** With the token in the fragment, which browsers never send. */
  readonly url: string;
  readonly port: number;
  readonly token: string;
  /** Ends the streams and what runs. The checkpointer stays open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const ADDRESS = "127.0.0.1";
const MOST_TRIES = 20;

/** Page and API from one process, on loopback alone. */
export async function startStudio(options: StudioServerOptions): Promise<RunningStudio> {
  const files = await readPageFiles(options.pageFolder);
  const studio = new StudioContext(options);
  const { token, sha256 } = createToken();
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const server = createServer({
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    maxHeaderSize: 32 * 1024,
    noDelay: true,
  });
  const port = await listening(server, options.port);
  const names = [ADDRESS, "localhost"];
  const rules: DoorRules = {
    allowedHosts: names.map((name) => `${name}:${port}`),
    allowedOrigins: names.map((name) => `http://${name}:${port}`),
    authentication: new Authentication([{ sha256, scopes: [...SCOPES] }]),
    mayWrite: options.mayWrite,
    mayDelete: options.mayWrite && options.mayDelete,
  };
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    void answerRequest({ studio, rules, files, ending: ending.signal }, incoming, outgoing);
  });
  const origin = `http://${ADDRESS}:${port}`;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= shutDown(server, studio, ending);
    return closed;
  };
  return { origin, url: `${origin}/#k=${token}`, port, token, close, [Symbol.asyncDispose]: close };
}

interface Desk {
  readonly studio: StudioContext;
  readonly rules: DoorRules;
  readonly files: ReadonlyMap<string, PageFile>;
  readonly ending: AbortSignal;
}

async function answerRequest(desk: Desk, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { studio, rules, files } = desk;
  const gone = new AbortController();
  const end = (): void => gone.abort();
  outgoing.on("close", end);
  desk.ending.addEventListener("abort", end);
  outgoing.on("error", end);
  try {
    const target = incoming.url ?? "";
    if (!isForApi(target)) {
      assertHost(incoming, rules);
      sendFile(incoming, outgoing, fileFor(files, incoming.method ?? "", target));
      return;
    }
    const { name, request } = await admit(incoming, rules, gone.signal);
    const answer = await OPERATIONS[name](studio, request);
    if (Symbol.asyncIterator in answer) await sendLines(outgoing, answer, gone.signal);
    else await sendJson(incoming, outgoing, answer);
  } catch (error) {
    if (!StateError.is(error) && !gone.signal.aborted) {
      studio.options.note(`${incoming.method} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
    sendProblem(outgoing, error);
  } finally {
    desk.ending.removeEventListener("abort", end);
  }
}

function fileFor(files: ReadonlyMap<string, PageFile>, method: string, target: string): PageFile {
  if (method !== "GET" && method !== "HEAD") {
    throw new Refusal("INVALID_ARGUMENT", "the page is only read", { status: 405, headers: { allow: "GET, HEAD" } });
  }
  const file = files.get(target.split("?", 1)[0] ?? "");
  if (file === undefined) throw new Refusal("NOT_FOUND", "there is no such file");
  return file;
}

/** The port that was asked for, or the next that is free. */
async function listening(server: Server, wanted: number): Promise<number> {
  for (let tries = 0; ; tries++) {
    const port = wanted === 0 ? 0 : wanted + tries;
    try {
      server.listen(port, ADDRESS);
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      if (code === "EADDRINUSE" && tries < MOST_TRIES && port < 65_535) continue;
      throw new StateError("UNAVAILABLE", `cannot listen on port ${port} of ${ADDRESS}: ${message}`, { cause });
    }
  }
}

async function shutDown(server: Server, studio: StudioContext, ending: AbortController): Promise<void> {
  const closed = once(server, "close");
  ending.abort();
  server.close();
  server.closeIdleConnections();
  // Streams end by themselves now; what else runs is given a moment.
  const tooLong = setTimeout(() => server.closeAllConnections(), 2000);
  await closed;
  clearTimeout(tooLong);
  await studio.close();
}
