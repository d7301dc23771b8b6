import { chmod, cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { isOpenToAll, onPath, unprivilegedUser } from "./binaries.ts";
import { canUnpack, type DebianPackage, unpacked } from "./debian-package.ts";
import { freePort, serverFolder, startServer, type TestServer } from "./server-process.ts";

export type PoolMode = "session" | "transaction" | "statement";

const PACKAGE: DebianPackage = { name: "pgbouncer", packages: ["pgbouncer"], program: "usr/sbin/pgbouncer" };

export const HOW_TO_GET_PGBOUNCER = "npm run services:install pgbouncer (Debian, as root), or put pgbouncer on PATH";

export const canHavePgbouncer = async (): Promise<boolean> =>
  (await onPath("pgbouncer")) !== undefined || (await canUnpack(PACKAGE));

/** This machine's, else Debian's, unpacked into the cache folder. */
export async function findPgbouncer(): Promise<Program | undefined> {
  const own = await onPath("pgbouncer");
  return own === undefined ? unpacked(PACKAGE) : { program: own, environment: {} };
}

interface Program {
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * A PgBouncer in front of the server at `behind`; its URL is of the same user and
 * database. It has room for every session of a suite, so that none queues.
 */
export async function startPgbouncer(behind: string, mode: PoolMode): Promise<TestServer> {
  const found = await findPgbouncer();
  if (found === undefined) throw new Error(`there is no PgBouncer here: ${HOW_TO_GET_PGBOUNCER}`);
  const user = await unprivilegedUser("postgres", "nobody");
  const [folder, port] = [await serverFolder("pgbouncer", user), await freePort()];
  const isOpen = user === undefined || (await isOpenToAll(found.program));
  const url = new URL(behind);
  const { hostname, port: serverPort, username, password } = url;
  url.port = String(port);
  const settings = `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, "users.txt")}
pool_mode = ${mode}
default_pool_size = 50
max_client_conn = 500
`;
  await writeFile(join(folder, "users.txt"), `"${username}" "${password}"\n`);
  await writeFile(join(folder, "pgbouncer.ini"), settings);
  for (const file of ["users.txt", "pgbouncer.ini"]) await chmod(join(folder, file), 0o644);
  return startServer({
    name: "pgbouncer",
    url: url.href,
    port,
    folder,
    ...(isOpen ? found : await copied(found, folder)),
    arguments: [join(folder, "pgbouncer.ini")],
    user,
    stopSignal: "SIGINT",
    probe: () => probe(url.href),
  });
}

/** For a cache folder that is closed to the user whom the program runs as. */
async function copied({ program, environment }: Program, folder: string): Promise<Program> {
  const [copy, libraries] = [join(folder, "pgbouncer"), join(folder, "libraries")];
  await cp(program, copy);
  for (const path of (environment["LD_LIBRARY_PATH"] ?? "").split(":").filter((each) => each !== "")) {
    await cp(path, libraries, { recursive: true, verbatimSymlinks: true });
  }
  return { program: copy, environment: { LD_LIBRARY_PATH: libraries } };
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
