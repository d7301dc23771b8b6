import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { PostgresClient } from "./connect.ts";

const PATIENCE_MS = 1_000;
const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;

/** What `pg` knows about a connection but does not document. */
interface Identified {
  readonly host?: string;
  readonly port?: number;
  readonly processID?: number | null;
  readonly secretKey?: number | null;
  readonly ssl?: boolean | object;
}

/**
 * Asks the server to cancel the statement of `client`, on a separate connection as
 * the protocol requires. The server's own limit ends most statements first: this is
 * for a statement that a pooler queued and sent late. Resolves when the request was
 * taken or cannot be sent; never rejects.
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
    // The server closes the connection once it has handled the request.
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
        // The key is never sent unencrypted where the original connection was encrypted.
        if (answer.toString() !== "S") return plain.destroy();
        const options = { socket: plain, host, ...(isIP(host) === 0 && { servername: host }) };
        const secure = connectTls({ ...options, ...(typeof ssl === "object" && ssl) }, () => send(secure));
        secure.on("error", () => plain.destroy());
      });
    });
  });
}

/** A protocol message: its length, itself included, and then the numbers. */
function message(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + 4 * numbers.length);
  bytes.writeInt32BE(bytes.byteLength);
  for (const [index, number] of numbers.entries()) bytes.writeInt32BE(number, 4 + 4 * index);
  return bytes;
}
