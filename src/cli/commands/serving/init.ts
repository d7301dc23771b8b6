import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { backendOf } from "../../../backends/open.ts";
import { StateError } from "../../../errors.ts";
import { parseModelString } from "../../../providers/strings.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { agentProgram } from "../../first-agent/program.ts";
import { secretsIn } from "../../store-url.ts";
import { versionOfPackage } from "../../version.ts";

/** Writes a small agent that runs at once, without a key or a network. Writes over nothing. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer, world } = call;
  const folder = resolve(given["folder"] ?? ".");
  const store = storeFor(options.text("keep-in") ?? "file:./threads");
  const model = options.text("model");
  const provider = model === undefined ? undefined : parseModelString(model).provider;
  const version = await versionOfPackage();
  const files: Readonly<Record<string, string>> = {
    "agent.mjs": agentProgram(store, model),
    ".env.example":
      "# Read by: node --env-file=.env agent.mjs\n# What your model and your store need, such as a key.\n",
    "package.json": packageFile(version, { ...provider?.peers, ...peersOf(store) }),
  };
  const there = await thoseThere(folder, Object.keys(files));
  const [first] = there;
  if (first !== undefined) {
    throw new StateError(
      "CONFLICT",
      `${JSON.stringify(join(folder, first))} is there already, and nothing is overwritten; name a folder that is empty`,
    );
  }
  if (!options.flag("dry-run")) {
    await mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { flag: "wx" });
  }
  const written = Object.keys(files).map((name) => join(folder, name));
  await printer.facts(
    written.map((path) => [options.flag("dry-run") ? "would write" : "wrote", { id: path }] as const),
    { written, dryRun: options.flag("dry-run") },
  );
  const enter = given["folder"] === undefined ? "" : `cd ${given["folder"]} && `;
  await call.note(`${enter}npm install && npm start -- "I'm Alex." && npm start -- "Who am I?"`);
  if (world.signal.aborted) throw world.signal.reason;
  return EXIT.done;
}

/** It goes into a shared file, so it must hold no password. */
function storeFor(url: string): string {
  backendOf(url);
  if (secretsIn(url).length === 0) return url;
  throw new UsageError("--keep-in writes the URL into a file: leave the password out, and put it into the environment");
}

const peersOf = (url: string): Readonly<Record<string, string>> => {
  const { peers, eitherPeer } = backendOf(url);
  return eitherPeer === true ? Object.fromEntries(Object.entries(peers).slice(0, 1)) : peers;
};

function packageFile(version: string, peers: Readonly<Record<string, string>>): string {
  const scripts = { start: "node agent.mjs" };
  const manifest = { private: true, type: "module", scripts, dependencies: { holdfast: `^${version}`, ...peers } };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

async function thoseThere(folder: string, names: readonly string[]): Promise<readonly string[]> {
  const there: string[] = [];
  for (const name of names) {
    const isThere = await readFile(join(folder, name)).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== "ENOENT" && error.code !== "ENOTDIR",
    );
    if (isThere) there.push(name);
  }
  return there;
}
