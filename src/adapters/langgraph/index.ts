/**
 * `holdfast/langgraph`: holdfast as LangGraph's own checkpointer. Needs
 * `@langchain/langgraph-checkpoint`, which LangGraph brings along.
 */
export { LangGraphSaver, type LangGraphSaverOptions } from "./saver.ts";
export { toLangGraphSaver } from "./to-langgraph-saver.ts";
