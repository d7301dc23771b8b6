export { HTTPCheckpointer, type HTTPCheckpointerOptions } from "./checkpointer.ts";
export { HTTPStore, type HTTPStoreOptions } from "./store.ts";
