import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";

/** Erases one person, and kills itself at the n-th moment before or after it changed anything in a storage. */
const [threads = "", items = "", tombstones = "", key = "", userId = "", nth = "0"] = process.argv.slice(2);

let moments = 0;
async function moment(): Promise<void> {
  if (++moments !== Number(nth)) return;
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => undefined);
}

/** The same methods, each of them between two moments. */
function watch<Target extends object>(target: Target, methods: readonly (keyof Target & string)[]): void {
  for (const name of methods) {
    const method = target[name] as (...given: unknown[]) => Promise<unknown>;
    const between = async (...given: unknown[]): Promise<unknown> => {
      await moment();
      const answer = await method.apply(target, given);
      await moment();
      return answer;
    };
    Object.defineProperty(target, name, { value: between });
  }
}

const checkpointer = await openCheckpointer(threads);
const [store, ledger] = [await openStore(items), await openStore(tombstones)];
const { log } = contextOf(checkpointer) ?? {};
if (log !== undefined) watch(log, ["append", "scrub"]);
for (const each of [store, ledger]) {
  const { driver } = accessOf(each) ?? {};
  if (driver !== undefined) watch(driver, ["write", "scrub"]);
}
await new PersonalData({ checkpointers: [checkpointer], stores: [store], ledger, key }).eraseUser(userId);
for (const each of [checkpointer, store, ledger]) await each.close();
