/**
 * `npm run broken` holds every driver, checkpointer, saver and store that is broken on purpose to the cases that have to
 * find it, and prints which case finds it in which command. It fails where one is found by no case of `npm test`.
 */

import { checkpointerSuite } from "../../src/testing/checkpointer-cases/suite.ts";
import { firstOfEachArea } from "../feature-sample.ts";
import { CHECKPOINTERS } from "./checkpointers/kind.ts";
import { DRIVERS } from "./drivers/kind.ts";
import type { BrokenKind, Fault } from "./fault.ts";
import { SAVERS } from "./savers/kind.ts";
import { STORES } from "./stores/kind.ts";

const sample = new Set(firstOfEachArea(checkpointerSuite).cases.map(({ name }) => name));

/** `npm test` runs every case of every suite, on memory and SQLite; real servers get a sample of the features above the log. */
const isRunWithServers = (what: string, name: string): boolean => what !== "checkpointer" || sample.has(name);

let unfound = 0;

async function print<Each extends Fault>(what: string, kind: BrokenKind<Each>): Promise<void> {
  const known = new Set(kind.cases.map(({ name }) => name));
  let missed = 0;
  let onServers = 0;
  for (const fault of kind.faults) {
    const found: string[] = [];
    for (const name of fault.caughtBy) {
      if (known.has(name) && (await kind.outcomeOf(name, fault)).outcome === "failed") found.push(name);
    }
    const there = found.filter((name) => isRunWithServers(what, name));
    if (found.length === 0) missed++;
    if (there.length > 0) onServers++;
    console.log(`${what} that ${fault.fault}${found.length === 0 ? ": FOUND BY NO CASE" : ""}`);
    for (const name of found) console.log(`    test${there.includes(name) ? ", test:servers" : ""}: ${name}`);
  }
  unfound += missed;
  console.log(
    `== ${kind.faults.length} broken ${what}s: test:matrix and npm test find ${kind.faults.length - missed}, test:servers ${onServers}\n`,
  );
}

// Some of them wait for what never comes, with timers that hold no process.
const alive = setInterval(() => undefined, 60_000);
await print("driver", DRIVERS);
await print("checkpointer", CHECKPOINTERS);
await print("saver", SAVERS);
await print("store", STORES);
clearInterval(alive);
process.exitCode = unfound > 0 ? 1 : 0;
