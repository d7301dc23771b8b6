/**
 * Type-checks every ```ts block of the README, of docs/ and of its folders. Each is a program of
 * its own; one that begins with "// continues" is added to the one before it on
 * the same page, and one that begins with a file's name ("// model.mjs") can be
 * imported by the others. Packages that only test/wide has are looked for there.
 */
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../", import.meta.url);
const OUTPUT = new URL(".snippets/", ROOT);

const pages = [
  "README.md",
  ...(await readdir(new URL("docs/", ROOT), { recursive: true }))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name.replaceAll("\\", "/")}`),
];
await rm(OUTPUT, { recursive: true, force: true });
await mkdir(OUTPUT, { recursive: true });
let count = 0;
for (const page of pages) {
  const text = await readFile(new URL(page, ROOT), "utf8");
  const programs: string[] = [];
  for (const [, code = ""] of text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
    const previous = programs.at(-1);
    if (code.startsWith("// continues") && previous !== undefined) programs[programs.length - 1] = previous + code;
    else programs.push(code);
    count++;
  }
  const folder = new URL(`${page.replace(/[^a-z0-9]+/gi, "-")}/`, OUTPUT);
  await mkdir(folder);
  for (const [index, code] of programs.entries()) {
    const own = /^\/\/ ([\w-]+)\.mjs$/m.exec(code.split("\n", 1)[0] ?? "")?.[1];
    const name = own === undefined ? `${index + 1}.ts` : `${own}.mts`;
    await writeFile(new URL(name, folder), `${code}\nexport {};\n`);
  }
}
const { devDependencies } = JSON.parse(await readFile(new URL("test/wide/package.json", ROOT), "utf8")) as {
  devDependencies: object;
};
const onlyInWide = Object.keys(devDependencies);
const config = {
  extends: "../tsconfig.json",
  compilerOptions: {
    noEmit: true,
    isolatedDeclarations: false,
    declaration: false,
    noUnusedLocals: false,
    paths: {
      ...Object.fromEntries(onlyInWide.map((name) => [name, [`../test/wide/node_modules/${name}`]])),
      holdfast: ["../src/index.ts"],
      "holdfast/*": ["../src/entry/*.ts", "../src/backends/*/index.ts"],
    },
  },
  include: ["*/*.ts", "*/*.mts"],
  exclude: [],
};
await writeFile(new URL("tsconfig.json", OUTPUT), JSON.stringify(config));
execFileSync("npx", ["tsc", "-p", fileURLToPath(OUTPUT)], { stdio: "inherit" });
console.log(`${count} snippets on ${pages.length} pages type-check`);
