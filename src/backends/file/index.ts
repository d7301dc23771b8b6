export { FileCheckpointer, type FileCheckpointerOptions } from "./checkpointer.ts";
export { type FileStoreOptions, fileStore } from "./store.ts";
