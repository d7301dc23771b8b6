import { MemoryLog } from "../../src/backends/memory/log.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { logOf, testTampering } from "./tampering.ts";

testTampering("memory", async () => ({ log: new MemoryLog(), dispose: async () => undefined }));

testTampering("sqlite", async () => logOf(await openCheckpointer("sqlite::memory:")));
