import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { turnsPass } from "../turns-of-the-loop.ts";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly bytes: Buffer;
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
}

/** One request with exactly these headers, Host included, on a connection of its own. Ends at the first event of a stream. */
export function rawRequest(port: number, { method = "GET", path, headers = {}, body }: RawRequest): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: "127.0.0.1", port, method, path, headers: { ...headers } as Record<string, string>, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        const finish = (): void => {
          const bytes = Buffer.concat(chunks);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes.toString("utf8"), bytes });
        };
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          if (response.headers["content-type"] !== "text/event-stream") return;
          finish();
          request.destroy();
        });
        response.on("end", finish);
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

/** Writes these bytes to a socket and returns all that comes back until the other side ends it, or until `quietMs` without a byte. */
export function rawBytes(
  port: number,
  parts: readonly (string | Uint8Array)[],
  { quietMs = 500, endAfter = false }: { readonly quietMs?: number; readonly endAfter?: boolean } = {},
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let heard = "";
    const finish = (): void => {
      clearTimeout(quiet);
      socket.destroy();
      resolve(heard);
    };
    // The service may be in this process: after a stall of it, what is under way gets its turns before quiet is quiet.
    const finishIfQuiet = async (): Promise<void> => {
      const before = heard.length;
      await turnsPass();
      if (heard.length === before) finish();
    };
    let quiet = setTimeout(finishIfQuiet, quietMs * 10);
    socket.on("data", (chunk) => {
      heard += chunk;
      clearTimeout(quiet);
      quiet = setTimeout(finishIfQuiet, quietMs);
    });
    socket.on("error", finish);
    socket.on("close", finish);
    for (const part of parts) socket.write(part);
    if (endAfter) socket.end();
  });
}

export const statusesIn = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
