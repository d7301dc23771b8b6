export { MemoryCheckpointer, type MemoryCheckpointerOptions } from "./checkpointer.ts";
