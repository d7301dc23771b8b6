/**
 * Looks at the package as its users get it: packs it, checks the tarball,
 * installs it into an empty folder, counts what arrived, and imports every entry.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Itself, and the validator for tools that are described by plain JSON Schema; it has no dependencies. */
const EXPECTED = ["holdfast", "@cfworker/json-schema"];

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const run = (command: string, args: readonly string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

const folder = await mkdtemp(join(tmpdir(), "holdfast-package-"));
try {
  const [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", folder], ROOT)) as [
    { filename: string; size: number; files: readonly { path: string }[] },
  ];
  const strays = packed.files.filter(({ path }) => /\.test\.|(^|\/)(test|bench|examples)\//.test(path));
  if (strays.length > 0)
    throw new Error(`the tarball holds files it should not: ${strays.map((file) => file.path).join(", ")}`);
  const tarball = join(folder, packed.filename);
  console.log(run("npx", ["publint", "--strict", tarball], ROOT).trim());
  console.log(run("npx", ["attw", tarball, "--profile", "esm-only"], ROOT).trim());

  const user = join(folder, "user");
  await writeFile(join(folder, "package.json"), "{}");
  run("npm", ["install", "--no-audit", "--no-fund", "--prefix", user, tarball], folder);
  const lock = JSON.parse(await readFile(join(user, "package-lock.json"), "utf8")) as { packages: object };
  const installed = Object.keys(lock.packages).filter((path) => path !== "");
  const unexpected = installed.filter((path) => !EXPECTED.includes(path.replace("node_modules/", "")));
  if (unexpected.length > 0) throw new Error(`installing holdfast brought ${unexpected.join(", ")}`);

  const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { exports: object };
  const entries = Object.keys(exports).filter((entry) => !entry.endsWith(".json"));
  const program = entries
    .map((entry) => `await import(${JSON.stringify(entry.replace(/^\./, "holdfast"))});`)
    .join("\n");
  await writeFile(join(user, "entries.mjs"), program);
  run("node", ["entries.mjs"], user);
  console.log(
    `${entries.length} entry points import; ${packed.size} bytes packed; installing adds ${installed.length} packages`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
