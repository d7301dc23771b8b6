import { MemoryLog } from "../../src/backends/memory/log.ts";
import { validate } from "./validation-suite.ts";

validate("memory", async () => ({ log: new MemoryLog() }));
