import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { PostgresClient } from "./connect.ts";

const PATIENCE_MS = 1_000;
const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;

/** What `pg` knows of a connection and asks nobody to use. */
interface Identified {
  readonly host?: string;
  readonly port?: number;
  readonly processID?: number | null;
  readonly secretKey?: number | null;
  readonly ssl?: boolean | object;
}

/**
 * Asks the server, on a connection of its own as the protocol wants it, to stop
 * what it does for `client`. The server's own limit ends most statements before:
 * this is for one that a pooler kept waiting and sent late. Resolves when the
 * request was taken or cannot be made; never rejects.
 */
export function cancelStatement(client: PostgresClient): Promise<void> {
  const { host, port, processID, secretKey, ssl } = client as Identified;
  if (typeof processID !== "number" || typeof secretKey !== "number" || host === undefined || port === undefined) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const plain = host.startsWith("/") ? connectTcp(`${host}/.s.PGSQL.${port}`) : connectTcp(port, host);
    const timer = setTimeout(() => plain.destroy(), PATIENCE_MS);
    const request = message(CANCEL_REQUEST, processID, secretKey);
    // The server closes the connection when it has passed the request on.
    const send = (socket: Socket): void =>
      void socket
        .on("error", () => undefined)
        .resume()
        .end(request);
    plain.on("error", () => undefined);
    plain.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
    plain.on("connect", () => {
      if (ssl === undefined || ssl === false) return send(plain);
      plain.write(message(SSL_REQUEST));
      plain.once("data", (answer) => {
        // The key is never sent in the open where the connection itself was not.
        if (answer.toString() !== "S") return plain.destroy();
        const options = { socket: plain, host, ...(isIP(host) === 0 && { servername: host }) };
        const secure = connectTls({ ...options, ...(typeof ssl === "object" && ssl) }, () => send(secure));
        secure.on("error", () => plain.destroy());
      });
    });
  });
}

/** The length, itself included, and so many whole numbers. */
function message(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + 4 * numbers.length);
  bytes.writeInt32BE(bytes.byteLength);
  for (const [index, number] of numbers.entries()) bytes.writeInt32BE(number, 4 + 4 * index);
  return bytes;
}
