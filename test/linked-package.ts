import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** Loads TypeScript in every process that a program of such a folder starts. */
export const WITH_TYPESCRIPT: { readonly NODE_OPTIONS: string } = {
  NODE_OPTIONS: `--import ${import.meta.resolve("tsx")}`,
};

/** Puts a package into a folder that is holdfast to its programs and leads to the sources, and beside it what is installed here. */
export async function linkPackage(folder: string): Promise<void> {
  const packages = join(folder, "node_modules");
  const place = join(packages, "holdfast");
  await mkdir(place, { recursive: true });
  const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    exports: Record<string, string | { readonly module?: string; readonly default: string }>;
  };
  const linked: Record<string, string> = {};
  for (const [door, target] of Object.entries(exports)) {
    if (typeof target === "string") continue;
    const source = (target.module ?? target.default).replace("./dist/", "src/").replace(/\.js$/, ".ts");
    linked[door] = `./${door === "." ? "index" : door.slice(2)}.js`;
    await writeFile(join(place, linked[door]), `export * from ${JSON.stringify(join(ROOT, source))};\n`);
  }
  await writeFile(join(place, "package.json"), JSON.stringify({ name: "holdfast", type: "module", exports: linked }));
  const command = `#!/usr/bin/env node\nimport ${JSON.stringify(join(ROOT, "src/cli/main.ts"))};\n`;
  await writeFile(join(place, "cli.js"), command, { mode: 0o755 });
  await mkdir(join(packages, ".bin"));
  await symlink("../holdfast/cli.js", join(packages, ".bin", "holdfast"));
  for (const name of await namesOfPackages()) {
    if (name === "holdfast") continue;
    await mkdir(dirname(join(packages, name)), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), join(packages, name));
  }
}

async function namesOfPackages(): Promise<readonly string[]> {
  const { devDependencies, dependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    devDependencies: object;
    dependencies: object;
  };
  return Object.keys({ ...devDependencies, ...dependencies });
}
