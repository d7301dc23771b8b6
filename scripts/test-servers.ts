/**
 * `npm run test:servers` runs the suites of real servers; with names, of those alone: `npm run test:servers redis s3`.
 * A server that is not here fails the run: `npm run services:install` gets them. Other arguments go to vitest.
 */
import { spawnSync } from "node:child_process";
import { isServiceName, SERVICES } from "../test/services/services.ts";

const words = process.argv.slice(2);
const names = words.filter(isServiceName);
const wanted = names.length > 0 ? names : Object.keys(SERVICES).filter(isServiceName);
const missing: string[] = [];
for (const name of wanted) {
  const { variable, isHere, howToGet } = SERVICES[name];
  if ((process.env[variable] ?? "") === "" && !(await isHere())) missing.push(`${name}: ${howToGet}`);
}
if (missing.length > 0) {
  console.error(`There is no\n${missing.join("\n")}`);
  process.exit(1);
}
const { status } = spawnSync(
  "npx",
  ["vitest", "run", "--mode", "servers", ...words.filter((word) => !isServiceName(word))],
  {
    stdio: "inherit",
    env: { ...process.env, HOLDFAST_TEST_SERVICES: names.join(","), HOLDFAST_TEST_REQUIRE: wanted.join(",") },
  },
);
process.exitCode = status ?? 1;
