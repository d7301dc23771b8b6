/**
 * `holdfast/langgraph`: holdfast as LangGraph's own checkpointer. Needs
 * `@langchain/langgraph-checkpoint` and `@langchain/core`, which LangGraph brings along.
 */
export { copyGraphThreads, type MovingInOptions, type MovingInReport } from "./moving-in.ts";
export { LangGraphSaver, type LangGraphSaverOptions } from "./saver.ts";
export { toLangGraphSaver } from "./to-langgraph-saver.ts";
