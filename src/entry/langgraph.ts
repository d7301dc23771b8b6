/**
 * `holdfast/langgraph`: holdfast as LangGraph's own checkpointer and store. Needs
 * `@langchain/langgraph-checkpoint` and `@langchain/core`, which LangGraph brings along.
 */
export { copyGraphThreads, type MovingInOptions, type MovingInReport } from "../adapters/langgraph/moving-in.ts";
export { LangGraphSaver, type LangGraphSaverOptions, toLangGraphSaver } from "../adapters/langgraph/saver.ts";
export { LangGraphStore, type LangGraphStoreOptions, toLangGraphStore } from "../adapters/langgraph/store.ts";
