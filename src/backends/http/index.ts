export { HTTPCheckpointer, type HTTPCheckpointerOptions } from "./checkpointer.ts";
