import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createConnection } from "mysql2/promise";
import { isExecutable, onPath, unprivilegedUser } from "./binaries.ts";
import { unpacked } from "./debian-package.ts";
import { freePort, serverFolder, startServer, type TestServer } from "./server-process.ts";

const run = promisify(execFile);

export interface MariadbOptions {
  /** As in my.cnf: `{ "sync-binlog": "1" }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export const HOW_TO_GET_MARIADB =
  "npm run services:install mysql (Debian, as root), put mariadbd on PATH, or set HOLDFAST_TEST_MYSQL_URL";

interface MariadbPrograms {
  readonly server: string;
  readonly install: string;
  /** Two folders above the server: where its own files are. */
  readonly base: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** This machine's, where Debian puts it or on PATH; else Debian's, unpacked into the cache folder. */
export async function findMariadb(): Promise<MariadbPrograms | undefined> {
  const usual = "/usr/sbin/mariadbd";
  const server = (await onPath("mariadbd")) ?? ((await isExecutable(usual)) ? usual : undefined);
  if (server !== undefined) return programsBeside(server, {});
  const found = await unpacked({ name: "mariadb", packages: ["mariadb-server"], program: "usr/sbin/mariadbd" });
  return found && programsBeside(found.program, found.environment);
}

function programsBeside(server: string, environment: NodeJS.ProcessEnv): MariadbPrograms {
  const base = dirname(dirname(server));
  return { server, install: join(base, "bin", "mariadb-install-db"), base, environment };
}

/** Starts a MariaDB, with a database `agents`. Its URL is of a user who may do everything. */
export async function startMariadb(options: MariadbOptions = {}): Promise<TestServer> {
  const found = await findMariadb();
  if (found === undefined) throw new Error(`there is no MariaDB here: ${HOW_TO_GET_MARIADB}`);
  const user = await unprivilegedUser("mysql", "nobody");
  const folder = await serverFolder("mariadb", user);
  const [port, password] = [await freePort(), randomBytes(12).toString("hex")];
  const own = [
    ...["--no-defaults", `--basedir=${found.base}`, `--lc-messages-dir=${join(found.base, "share", "mysql")}`],
    `--datadir=${join(folder, "data")}`,
  ];
  const environment = { ...process.env, ...found.environment };
  await run(found.install, [...own, "--auth-root-authentication-method=normal", "--skip-test-db"], {
    ...user,
    cwd: folder,
    env: environment,
  });
  const init = join(folder, "init.sql");
  const statements = [
    `CREATE USER IF NOT EXISTS holdfast@'127.0.0.1' IDENTIFIED BY '${password}'`,
    "GRANT ALL PRIVILEGES ON *.* TO holdfast@'127.0.0.1' WITH GRANT OPTION",
    "CREATE DATABASE IF NOT EXISTS agents",
  ];
  await writeFile(init, `${statements.join(";\n")};\n`, { mode: 0o644 });
  const settings = {
    port: String(port),
    "bind-address": "127.0.0.1",
    socket: join(folder, "socket"),
    "pid-file": join(folder, "mariadb.pid"),
    "init-file": init,
    "max-connections": "400",
    // A small pool of pages and a short log start fast; a commit is as durable as by default.
    "innodb-buffer-pool-size": "128M",
    "innodb-log-file-size": "48M",
    "innodb-flush-log-at-trx-commit": "1",
    ...options.settings,
  };
  const url = `mysql://holdfast:${password}@127.0.0.1:${port}/agents`;
  return startServer({
    name: "mariadb",
    url,
    port,
    folder,
    program: found.server,
    arguments: [...own, ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)],
    environment: found.environment,
    user,
    stopSignal: "SIGTERM",
    probe: () => probe(url),
  });
}

/** The init file is run before the server listens. */
async function probe(url: string): Promise<void> {
  const connection = await createConnection({ uri: url, connectTimeout: 5_000 });
  try {
    await connection.query("SELECT 1");
  } finally {
    connection.destroy();
  }
}
