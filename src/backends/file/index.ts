export { FileCheckpointer, type FileCheckpointerOptions } from "./checkpointer.ts";
