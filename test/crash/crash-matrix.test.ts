import { expect, test } from "vitest";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { RETURNS } from "./life.ts";
import { surviveEverywhere } from "./matrix.ts";
import { openStore } from "./stores.ts";
import { KINDS, type Story } from "./story.ts";

test("try", async () => {
  const store = await openStore("memory");
  const counts: Record<string, number> = {};
  let failures = 0;
  const random = seededRandom(seed);
  for (const kind of KINDS)
    for (const tools of [0, 1, 3] as const)
      for (const every of [1, "end"] as const)
        for (const back of RETURNS) {
          if (tools === 0 && kind !== "pure") continue;
          const story: Story = { kind, tools, every };
          let n = 0;
          const t = performance.now();
          try {
            await surviveEverywhere(store, { story, back }, random, (at) => {
              n++;
              for (const p of at) counts[p] = (counts[p] ?? 0) + 1;
            });
          } catch (error) {
            failures++;
            console.log(String(error).slice(0, 1500));
          }
          console.log(kind, tools, every, back, n, ((performance.now() - t) / n).toFixed(1));
        }
  console.log(counts);
  expect(failures).toBe(0);
}, 600_000);
