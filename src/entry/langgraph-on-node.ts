/**
 * `holdfast/langgraph` as Node imports it: LangGraph's packages are looked at before anything that names them is loaded,
 * so that one that is missing or too old is an error that says what to install. `require` has an entry of
 * its own, and bundlers take `langgraph.ts` itself, because neither can wait while a module is loaded.
 */
import { assertPeers } from "../adapters/langgraph/peers.ts";

await assertPeers();

const adapter: typeof import("./langgraph.ts") = await import("./langgraph.ts");

export const copyGraphThreads: typeof adapter.copyGraphThreads = adapter.copyGraphThreads;
export const LangGraphSaver: typeof adapter.LangGraphSaver = adapter.LangGraphSaver;
export const LangGraphStore: typeof adapter.LangGraphStore = adapter.LangGraphStore;
export const toLangGraphSaver: typeof adapter.toLangGraphSaver = adapter.toLangGraphSaver;
export const toLangGraphStore: typeof adapter.toLangGraphStore = adapter.toLangGraphStore;
