/**
 * `holdfast/langgraph`: holdfast as LangGraph's own checkpointer and store. Needs
 * `@langchain/langgraph-checkpoint` and `@langchain/core`, which LangGraph brings along.
 */
export { copyGraphThreads, type MovingInOptions, type MovingInReport } from "./moving-in.ts";
export { LangGraphSaver, type LangGraphSaverOptions } from "./saver.ts";
export { LangGraphStore, type LangGraphStoreOptions } from "./store.ts";
export { toLangGraphSaver } from "./to-langgraph-saver.ts";
export { toLangGraphStore } from "./to-langgraph-store.ts";
