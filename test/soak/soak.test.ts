import { expect, test } from "vitest";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { soak } from "./soak.ts";
import { SOAKED_STORAGES } from "./soaked-storages.ts";

/** A sample of the campaign in test/campaigns/soak.test.ts. */
async function sample(backend: string): Promise<void> {
  const storage = await SOAKED_STORAGES[backend]?.();
  if (storage === undefined) throw new Error(`${backend} is not soaked`);
  console.log(`soak of ${backend}: HOLDFAST_SEED=${seed}`);
  try {
    const atLeast = ["search", "vacuum", "fork"];
    const plan = { durationMs: 6_000, boundMs: 120_000, disturbEveryMs: 1_500, atLeast, random: seededRandom(seed) };
    const { saves, calls } = await soak(storage, plan);
    expect(saves).toBeGreaterThan(0);
    for (const what of atLeast) expect(calls.get(what)?.calls, what).toBeGreaterThan(0);
  } finally {
    await storage.dispose();
  }
}

for (const backend of ["sqlite", "file"]) {
  test(`on ${backend}, every call ends while two writers never stop, and every acknowledged save is there once`, () =>
    sample(backend));
}

for (const backend of ["postgres", "redis"] as const) {
  await describeWithService(backend, () => {
    test(`on ${backend}, every call ends while two writers never stop, wires are cut and the server is killed; every acknowledged save is there once`, () =>
      sample(backend));
  });
}
