import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { openSync } from "node:fs";
import { chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const MOST_PATIENCE_MS = 10_000;

/** A server that belongs to the test that started it: on a loopback port and in a folder of its own. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** Everything that it writes is in here. */
  readonly folder: string;
  /** Ends it without notice, as `kill -9` and a crash do. Its data stay. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data; stops it first when it runs. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ServerCommand {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  /** Removed with everything in it when the server is stopped, or when this process ends in whatever way. */
  readonly folder: string;
  readonly program: string;
  readonly arguments: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
  readonly user?: SystemUser | undefined;
  readonly stopSignal: "SIGINT" | "SIGTERM";
  /** Resolves once it answers; rejects while it does not. */
  readonly probe: () => Promise<void>;
}

export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** For a cold JVM on a busy machine whose disk stalls. It only has to end what never starts. */
const START_PATIENCE_MS = 240_000;

export async function startServer(command: ServerCommand): Promise<TestServer> {
  const server = new ServerProcess(command);
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

class ServerProcess implements TestServer {
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly #command: ServerCommand;
  readonly #guard: ChildProcess;
  #child: ChildProcess | undefined;

  constructor(command: ServerCommand) {
    this.#command = command;
    ({ url: this.url, port: this.port, folder: this.folder } = command);
    this.#guard = guardFolder(command.folder, command.stopSignal);
  }

  async start(): Promise<void> {
    const deadline = performance.now() + START_PATIENCE_MS;
    for (;;) {
      if (!isRunning(this.#child)) await this.#spawn();
      try {
        return await this.#command.probe();
      } catch (error) {
        if (performance.now() > deadline) throw await this.#failure(error);
        // A server that was killed may have left children behind, and refuses to start until they are gone.
        await sleep(isRunning(this.#child) ? 20 : 200);
      }
    }
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async restart(): Promise<void> {
    await this.#end(this.#command.stopSignal);
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#end(this.#command.stopSignal);
    this.#guard.kill("SIGKILL");
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #spawn(): Promise<void> {
    const { program, user, environment } = this.#command;
    const output = openSync(join(this.folder, "server.log"), "a");
    this.#child = spawn(program, this.#command.arguments, {
      cwd: this.folder,
      // A group of its own: Ctrl-C in the terminal is for the test run, which then ends the server in its own way.
      detached: true,
      stdio: ["ignore", output, output],
      env: { ...process.env, ...environment },
      ...user,
    });
    this.#child.unref();
    await once(this.#child, "spawn");
    await writeFile(pidFile(this.folder), String(this.#child.pid));
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || !isRunning(child)) return;
    const ended = once(child, "exit");
    child.ref();
    child.kill(signal);
    // A replica that has just synced finishes its own files first, which takes too long for a test.
    const impatience = setTimeout(() => child.kill("SIGKILL"), MOST_PATIENCE_MS);
    await ended;
    clearTimeout(impatience);
    await rm(pidFile(this.folder), { force: true });
  }

  async #failure(cause: unknown): Promise<Error> {
    const log = await readFile(join(this.folder, "server.log"), "utf8");
    return new Error(`${this.#command.name} did not start: ${log.slice(-2000)}`, { cause });
  }
}

const isRunning = (child: ChildProcess | undefined): boolean =>
  child !== undefined && child.exitCode === null && child.signalCode === null;

const pidFile = (folder: string): string => join(folder, "server.pid");

/**
 * A small process that outlives this one. While we live, a pipe to it is open;
 * when it closes, however we ended, it ends the server and removes the folder.
 */
function guardFolder(folder: string, signal: string): ChildProcess {
  const script = `cat >/dev/null
    server=$(cat "$1/server.pid" 2>/dev/null)
    if [ -n "$server" ]; then
      kill -s "$2" "$server" 2>/dev/null
      for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$server" 2>/dev/null || break; sleep 0.3; done
      kill -s KILL "$server" 2>/dev/null
    fi
    rm -rf "$1"`;
  const guard = spawn("sh", ["-c", script, "guard", folder, signal.replace("SIG", "")], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

/** A folder in `parent` that the user may write into. */
export async function serverFolder(name: string, user?: SystemUser, parent: string = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, `holdfast-${name}-`));
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

/**
 * Below the ports that systems give to outgoing connections and to servers that ask for any port.
 */
const [LOWEST_PORT, HIGHEST_PORT] = [12_000, 32_000];

/**
 * A port that was free a moment ago. It is given out only once: not to a server of another test, here or in another
 * process, not while the server that it is for is down, and not to a client, which would then be connected to itself.
 */
export async function freePort(): Promise<number> {
  return freePortAmong(LOWEST_PORT, HIGHEST_PORT);
}

/** The same for a server that takes only some ports: from the first, and below the second. */
export async function freePortAmong(lowest: number, highest: number): Promise<number> {
  for (let attempt = 0; attempt < 100_000; attempt++) {
    const port = randomInt(lowest, highest);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
  throw new Error(`no port between ${lowest} and ${highest} is free`);
}

/**
 * Holds the port's number for the rest of this process, by its UDP half, which no server here uses. A server that found
 * its port taken would end, and a check whether it has started would be answered by the other one.
 */
async function reserve(port: number): Promise<boolean> {
  const held = createSocket("udp4").unref();
  held.bind({ port, address: "127.0.0.1", exclusive: true });
  return once(held, "listening").then(
    () => true,
    () => {
      held.close();
      return false;
    },
  );
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  const listens = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!listens) return false;
  server.close();
  await once(server, "close");
  return true;
}
