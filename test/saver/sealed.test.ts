import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { ReferenceLog } from "../broken/drivers/reference-log.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";
import { proveSaver } from "./saver-suite.ts";

for (const index of ["sealed", "plain"] as const) {
  const { keyring } = await sampleKeyring();
  proveSaver(
    `memory, sealed, with a ${index} index`,
    async () => {
      const log = new ReferenceLog(new MemoryLog());
      const sealing = new Sealing({ keyring, index });
      return { open: (options) => new Checkpointer(log, { ...options, sealing }), cleanup: async () => undefined };
    },
    300,
  );
}
