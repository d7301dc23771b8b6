export { MemoryCheckpointer, type MemoryCheckpointerOptions } from "./checkpointer.ts";
export { InMemoryStore, type InMemoryStoreOptions } from "./store.ts";
