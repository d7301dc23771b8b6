import { join } from "node:path";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { fileKeys } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";

/** Rotates the keys of a directory, or erases a person by key, and kills itself at the n-th moment before or after it wrote anything. */
const [deed = "", directory = "", key = "", userId = "", nth = "0"] = process.argv.slice(2);

let moments = 0;
async function moment(): Promise<void> {
  if (++moments !== Number(nth)) return;
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => undefined);
}

function watch<Target extends object>(target: Target | undefined, name: keyof Target & string): void {
  const method = target?.[name] as ((...given: unknown[]) => Promise<unknown>) | undefined;
  if (target === undefined || method === undefined) return;
  const between = async (...given: unknown[]): Promise<unknown> => {
    await moment();
    const answer = await method.apply(target, given);
    await moment();
    return answer;
  };
  Object.defineProperty(target, name, { value: between });
}

const keys = await openStore(`sqlite:${join(directory, "keys.db")}`);
const ledger = await openStore(`sqlite:${join(directory, "ledger.db")}`);
const keyring = await Keyring.open({ store: keys, provider: fileKeys(join(directory, "outer.key")) });
const sealing = new Sealing({ keyring });
const checkpointer = await openCheckpointer(`sqlite:${join(directory, "threads.db")}`, { sealing });
for (const store of [keys, ledger]) watch(accessOf(store)?.driver, "write");
watch(contextOf(checkpointer)?.log, "append");
if (deed === "rotate") await keyring.rotate({ graceMs: 0 });
else await new PersonalData({ checkpointers: [checkpointer], ledger, key }).eraseUser(userId);
for (const each of [checkpointer, ledger, keys]) await each.close();
