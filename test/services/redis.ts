import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { onPath } from "./binaries.ts";
import { unpackedRedis } from "./debian-redis.ts";
import { freePort, serverFolder, startServer, type TestServer } from "./server-process.ts";

export interface RedisOptions {
  /** As in redis.conf: `{ appendonly: "yes", appendfsync: "always", "cluster-enabled": "yes" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Another server than the one that is found. */
  readonly program?: RedisProgram;
  /** Paths of modules that it loads. */
  readonly modules?: readonly string[];
}

export const HOW_TO_GET_REDIS =
  "npm run services:install redis (Debian, as root), put redis-server or valkey-server on PATH, or set HOLDFAST_TEST_REDIS_URL";

export interface RedisProgram {
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** This machine's, else Debian's, unpacked into the cache folder. */
export async function findRedis(): Promise<RedisProgram | undefined> {
  const program = await onPath("redis-server", "valkey-server");
  return program === undefined ? unpackedRedis() : { program, environment: {} };
}

/** Starts a Redis (or Valkey). Without settings it syncs every write to its append-only file. */
export async function startRedis(options: RedisOptions = {}): Promise<TestServer> {
  const found = options.program ?? (await findRedis());
  if (found === undefined) throw new Error(`there is no Redis here: ${HOW_TO_GET_REDIS}`);
  const folder = await serverFolder("redis");
  const [port, password] = [await freePort(), randomBytes(12).toString("hex")];
  const settings = {
    bind: "127.0.0.1",
    port: String(port),
    dir: folder,
    requirepass: password,
    save: "",
    appendonly: "yes",
    appendfsync: "always",
    ...options.settings,
  };
  return startServer({
    name: "redis",
    url: `redis://:${settings.requirepass}@127.0.0.1:${port}`,
    port,
    folder,
    ...found,
    arguments: [
      ...Object.entries(settings),
      ...(options.modules ?? []).map((path) => ["loadmodule", path] as const),
    ].flatMap(([name, value]) => [`--${name}`, value]),
    stopSignal: "SIGTERM",
    probe: () => probe(port, settings.requirepass),
  });
}

/** While it loads its data it answers "-LOADING". */
async function probe(port: number, password: string): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write(`${password === "" ? "" : `AUTH ${password}\r\n`}PING\r\n`);
    let answer = "";
    for await (const part of socket.setEncoding("utf8")) {
      answer += part;
      if (answer.includes("+PONG")) return;
      if (answer.includes("-")) throw new Error(answer);
    }
    throw new Error("the connection was closed");
  } finally {
    socket.destroy();
  }
}
