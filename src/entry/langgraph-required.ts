/**
 * `holdfast/langgraph` as `require` gets it, which cannot wait: LangGraph's packages are looked at before the module that
 * names them is linked, so that one that is missing or too old is an error that says what to install.
 */
import { createRequire } from "node:module";
import { assertPeersAreHere } from "../adapters/langgraph/peers.ts";

assertPeersAreHere();

const load = createRequire(import.meta.url);
const adapter = load("./langgraph.js") as typeof import("./langgraph.ts");

export const copyGraphThreads: typeof adapter.copyGraphThreads = adapter.copyGraphThreads;
export const LangGraphSaver: typeof adapter.LangGraphSaver = adapter.LangGraphSaver;
export const LangGraphStore: typeof adapter.LangGraphStore = adapter.LangGraphStore;
export const toLangGraphSaver: typeof adapter.toLangGraphSaver = adapter.toLangGraphSaver;
export const toLangGraphStore: typeof adapter.toLangGraphStore = adapter.toLangGraphStore;
