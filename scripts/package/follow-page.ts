import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** A line that the page says to type, what it says is printed then, and what was printed. */
export interface TypedLine {
  readonly command: string;
  readonly expected: string;
  readonly printed: string;
}

const LONGEST_MS = 120_000;

/** Saves the programs of a page under the names in their first lines. */
export async function savePrograms(page: string, folder: string): Promise<void> {
  for (const [, code = ""] of page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
    const name = /^\/\/ ([\w-]+\.mjs)\n/.exec(code)?.[1];
    if (name === undefined) throw new Error(`a program of the page has no name: ${code.slice(0, 80)}`);
    await writeFile(join(folder, name), code);
  }
}

/** Types what the page says, line by line, and opens the pages that the programs serve. The first difference is an error. */
export async function typeCommands(
  page: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<readonly TypedLine[]> {
  const port = await freePort();
  const typed: TypedLine[] = [];
  for (const [, session = ""] of page.matchAll(/^```console\n([\s\S]*?)^```$/gm)) {
    for (const part of session.split(/^\$ /m).slice(1)) {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      const expected = lines.join("\n").replace("8080", String(port));
      const { printed, complaints } = await type(command, folder, { ...env, PORT: String(port) });
      if (!patternOf(expected).test(printed))
        throw new Error(`$ ${command}\nprinted\n${printed}\n${complaints}\nand the page says\n${expected}`);
      typed.push({ command, expected, printed });
    }
  }
  return typed;
}

/** "…" on a page stands for anything within a line. */
const patternOf = (expected: string): RegExp =>
  new RegExp(`^${expected.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("…", ".*")}$`);

async function type(command: string, folder: string, env: NodeJS.ProcessEnv) {
  const child = spawn("bash", ["-c", command], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LONGEST_MS,
  });
  let printed = "";
  let opened: Promise<void> | undefined;
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    printed += piece;
    const address = /^open (http:\S+)$/m.exec(printed)?.[1];
    if (address === undefined || opened !== undefined) return;
    opened = pressButton(address);
    // The program waits for the button.
    opened.catch(() => child.kill());
  });
  const complaints = text(child.stderr);
  await once(child, "close");
  await opened;
  return { printed: printed.trimEnd(), complaints: await complaints };
}

/** What a reader does with the page that a program serves. */
async function pressButton(address: string): Promise<void> {
  const page = await (await fetch(address)).text();
  if (!/<form method="post">.*<button>/.test(page)) throw new Error(`${address} shows no button: ${page}`);
  const answer = await fetch(address, { method: "POST" });
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`);
  await answer.text();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
