import crypto from "node:crypto";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { environmentKeys } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { keyOfItem } from "../../src/sealing/sealed-item.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import { boxesIn, boxesInItem } from "../sealing/stored-boxes.ts";
import { say } from "./speaking.ts";

/**
 * One of two copies of a machine: all its randomness is the same in both. It makes
 * its keys, saves a text, and says where it wrote and with which nonces.
 */
const [text = "", variable = ""] = process.argv.slice(2);

let drawn = 0;
/** Node's own functions: `import` has the same object as the code that is tried here. */
const mutable = crypto as { -readonly [Name in "randomBytes" | "randomFillSync"]: unknown };
mutable.randomFillSync = (target: Buffer, from = 0, size = target.byteLength - from): Buffer => {
  const stream = crypto.createHash("shake256", { outputLength: Math.max(1, size) });
  target.set(stream.update(`draw ${++drawn}`).digest().subarray(0, size), from);
  return target;
};
mutable.randomBytes = (size: number): Buffer => crypto.randomFillSync(Buffer.alloc(size));

const keyring = await Keyring.create({ store: new InMemoryStore(), provider: environmentKeys(variable) });
const sealing = new Sealing({ keyring });
const log = new MemoryLog({ now: () => 1_000_000 });
const checkpointer = new Checkpointer(log, { sealing, now: () => 1_000_000 });
const items = accessOf(new InMemoryStore())?.driver;
if (items === undefined) throw new Error("a store without a driver");
const store = new InMemoryStore({ sealing: { overStore: () => sealing.overStore(items) } });

const state = AgentState.create({ metadata: { subject: "ada" } }).withMessage(userMessage(text, { id: "m1" }));
await checkpointer.save(state, "t", { checkpointId: "c1", metadata: { text } });
await store.put(["notes"], "a", { text }, { metadata: { subject: "ada" } });

const NONCE_BYTES = 24;
const BODY_BEGINS = 8;
const nonces: string[] = [];
const noted = (box: Uint8Array): void => void nonces.push(Buffer.from(box.subarray(0, NONCE_BYTES)).toString("hex"));
const places: string[] = [];
for (const record of (await log.readRecords("t", { limit: 10 }))?.records ?? []) {
  places.push(`${record.seq} ${record.writeId}`);
  noted(Buffer.from(record.header.split(".")[2] ?? "", "base64url"));
  noted(record.body.subarray(BODY_BEGINS));
  for (const { box } of await boxesIn(keyring, "t", record)) noted(box);
}
for (const item of await items.read([{ namespace: ["notes"], key: "a" }])) {
  if (item === undefined) throw new Error("no item");
  places.push(keyOfItem(item) ?? "");
  noted(Buffer.from((JSON.parse(item.value) as { v: string }).v, "base64"));
  for (const { box } of await boxesInItem(keyring, item)) noted(box);
}
const [person] = await keyring.personKeys("", ["ada"]);
const keys = crypto
  .createHash("sha256")
  .update(person?.key ?? "")
  .digest("hex");
say({ places, keys, nonces });
