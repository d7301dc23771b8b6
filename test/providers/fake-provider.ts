import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { noticedByClients } from "../network/noticed-by-clients.ts";

/** What a provider that only pretends is to answer, one after the other. */
export type FakeReply = FakeAnswer | FakeFailure | ((body: unknown) => FakeAnswer | FakeFailure);

export interface FakeAnswer {
  readonly blocks: readonly FakeBlock[];
  /** Why the model stops, where it does not simply finish. A refusal's words are those of the text blocks. */
  readonly finish?: "length" | "content-filter" | "refusal";
  /** Stops after this many events of the stream… */
  readonly stopAfter?: number;
  /** …by ending it properly, by breaking the connection, by saying no more, or with an error event. @default "end" */
  readonly stopBy?: "end" | "break" | "hang" | "error";
}

export type FakeBlock =
  | { readonly type: "text"; readonly text: string }
  /** A thought without text is one that the provider keeps to itself. */
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool-call"; readonly id: string; readonly name: string; readonly arguments: object };

export interface FakeFailure {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: unknown;
}

export interface FakeProvider extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** Requests whose client went away before the answer was whole. */
  readonly abandoned: number;
}

/** How one provider speaks. */
export interface FakeDialect {
  /** Why the real one would refuse the request. */
  refuse(request: RecordedRequest): FakeFailure | undefined;
  events(answer: FakeAnswer, request: RecordedRequest): readonly object[];
  errorEvent(message: string): object;
  errorBody(failure: FakeFailure): object;
}

export async function startFakeProvider(dialect: FakeDialect, replies: readonly FakeReply[]): Promise<FakeProvider> {
  const requests: RecordedRequest[] = [];
  const waiting = [...replies];
  let abandoned = 0;
  const server = createServer(async (incoming, response) => {
    const request = await record(incoming);
    requests.push(request);
    response.on("close", () => {
      if (!response.writableFinished) abandoned++;
    });
    const refused = dialect.refuse(request);
    const next = refused ?? waiting.shift() ?? { status: 500, message: "the fake has no more replies" };
    const reply = typeof next === "function" ? next(request.body) : next;
    if ("status" in reply) return fail(response, dialect, reply);
    await stream(response, dialect, reply, dialect.events(reply, request));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get abandoned() {
      return abandoned;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await noticedByClients();
    },
  };
}

async function record(incoming: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return {
    path: incoming.url ?? "",
    headers: incoming.headers,
    text,
    body: text === "" ? undefined : JSON.parse(text),
  };
}

function fail(response: ServerResponse, dialect: FakeDialect, failure: FakeFailure): void {
  response.writeHead(failure.status, { "content-type": "application/json", ...failure.headers });
  response.end(JSON.stringify(dialect.errorBody(failure)));
}

async function stream(
  response: ServerResponse,
  dialect: FakeDialect,
  { stopAfter, stopBy = "end" }: FakeAnswer,
  events: readonly object[],
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const event of events.slice(0, stopAfter)) response.write(asEvent(event));
  if (stopAfter !== undefined) {
    if (stopBy === "error") response.write(asEvent(dialect.errorEvent("Overloaded")));
    if (stopBy === "hang") return;
    if (stopBy === "break") {
      // What was written must have left before the connection goes.
      await new Promise<void>((gone) => response.write(": a comment\n\n", () => gone()));
      response.destroy();
      return;
    }
  }
  response.end();
}

function asEvent(event: object): string {
  const { type } = event as { type?: string };
  return `${type === undefined ? "" : `event: ${type}\n`}data: ${"done" in event ? "[DONE]" : JSON.stringify(event)}\n\n`;
}

/** A text in two pieces, as it would come over a network. */
export const halves = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
};
