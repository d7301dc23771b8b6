import { afterAll, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { FaultyLog } from "../../src/testing/faulty-log.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testCheckpointer } from "../../src/testing/test-checkpointer.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { ReferenceLog } from "../broken/drivers/reference-log.ts";
import { sampleKeyring } from "./sample-keyring.ts";

/** Storages and the other policy are in `conformance-storages.test.ts`, which `npm run test:all` runs. */
const { keyring } = await sampleKeyring();

const sealing = new Sealing({ keyring });

testThreadLog({
  name: "memory with every optional method, sealed",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    return { subject: sealing.over(new ReferenceLog(new MemoryLog(clock))), clock };
  },
});

testCheckpointer({
  name: "memory, sealed",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    const inner = new MemoryLog(clock);
    let isDown = false;
    const faultAt = () => (isDown ? ({ when: "before", code: "PERMISSION_DENIED" } as const) : undefined);
    const open = () => new Checkpointer(new FaultyLog(inner, { faultAt }), { ...clock, sealing });
    const outage = async () => {
      isDown = true;
      return async () => {
        isDown = false;
      };
    };
    return { subject: open(), reopen: async () => open(), clock, outage };
  },
});
