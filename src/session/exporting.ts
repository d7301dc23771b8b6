import { Warnings } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import { encodeValue } from "../state/values/codec.ts";
import type { ErasureParty } from "./erasure-party.ts";

/** The first line of an export: what the fields of the others are. */
const DESCRIPTION = {
  schema: "holdfast.export/1",
  fields: {
    backend: "which of the backends it is from",
    kind: '"message", "field" (a value in a state or an item), "item" (of a store) or "user data"',
    where: "the thread, or the namespace and the key",
    checkpointId: "the newest checkpoint that holds it, where it has a name",
    path: "which part of it",
    metadata: "of an item, its metadata",
    value: 'the value; what JSON lacks is an object with the key "$", as docs/state.md says',
  },
};

/** Everything about a person, each value once however many checkpoints hold it. */
export async function* exportLines(
  parties: readonly ErasureParty[],
  userId: string,
): AsyncGenerator<string, void, undefined> {
  yield JSON.stringify(DESCRIPTION);
  let failure: StateError | undefined;
  for (const party of parties) {
    const warnings = new Warnings();
    for await (const found of party.find((subject) => subject === userId, warnings)) {
      const told = new Set<string>();
      for (const { kind, where, checkpointId, path, value, beside = {} } of found) {
        if (kind === "key") continue;
        const encoded = encodeValue(value, "value");
        const same = JSON.stringify([kind, where, path.replace(/\d+/g, "0"), encoded]);
        if (told.has(same)) continue;
        told.add(same);
        const rest = encodeValue(beside, "item") as object;
        yield JSON.stringify({ backend: party.name, kind, where, checkpointId, path, value: encoded, ...rest });
      }
    }
    const [first] = warnings.list;
    if (first !== undefined) {
      failure ??= new StateError(first.code, `${party.name}: the export is not whole: ${first.message}`);
    }
  }
  // What can be read is handed out all the same.
  if (failure !== undefined) throw failure;
}
