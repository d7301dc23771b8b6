import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Pool } from "pg";
import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { postgresqlCheckpointer } from "./index.ts";

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(body.byteLength + 4, 1);
  return Buffer.concat([head, body]);
};

/** Ready for queries, and the end: what a server sends whose postmaster is killed as a connection is made. */
const READY_AND_OVER = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("K", Buffer.alloc(8, 1)),
  message("Z", Buffer.from("I")),
  message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0")),
]);

test("a server that ends a connection in the packet that made it ready is UNAVAILABLE, and ends no process", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(READY_AND_OVER));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dsn = `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`;
  const pool = new Pool({ connectionString: dsn });
  const unheard: unknown[] = [];
  const hear = (error: unknown): void => void unheard.push(error);
  process.on("uncaughtException", hear);
  try {
    for (const from of [{ dsn }, { pool }]) {
      const checkpointer = postgresqlCheckpointer({ ...from, retry: { attempts: 1 } });
      expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "UNAVAILABLE" });
      await checkpointer.close();
    }
    expect(unheard).toEqual([]);
  } finally {
    process.off("uncaughtException", hear);
    await pool.end();
    server.close();
  }
});
