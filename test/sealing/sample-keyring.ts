import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { environmentKeys, newOuterKey } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import type { KeyringOptions } from "../../src/sealing/keys/keyring-options.ts";

let variables = 0;

/** A keyring of its own, in memory. */
export async function sampleKeyring(
  options: Partial<KeyringOptions> = {},
): Promise<{ readonly keyring: Keyring; readonly options: KeyringOptions; readonly variable: string }> {
  const variable = `HOLDFAST_TEST_KEYS_${process.pid}_${++variables}`;
  process.env[variable] = newOuterKey();
  const complete = { store: new InMemoryStore(), provider: environmentKeys(variable), ...options };
  return { keyring: await Keyring.create(complete), options: complete, variable };
}
