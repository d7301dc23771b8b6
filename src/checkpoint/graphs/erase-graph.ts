/** Loaded when the first thread of a graph is met: whoever has no graphs does not load savers. */
export { eraseInGraph, findInGraph } from "../../saver/erasing/erasing.ts";
