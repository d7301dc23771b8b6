import { assertPeerIsHere, assertPeerVersion, importPeer } from "../../internal/import-peer.ts";

/** Delta channels came with 1.1, and the base class asks for no more since. */
export const LANGGRAPH_RANGE = ">=1.1 <2";
export const LANGCHAIN_CORE_RANGE = ">=1.1.48 <2";

/** Says which of LangGraph's packages is missing, or of a version that this adapter does not work with. */
export async function assertPeers(): Promise<void> {
  // The second imports the first.
  await importPeer("@langchain/core", LANGCHAIN_CORE_RANGE, () => import("@langchain/core/load"));
  assertPeerVersion("@langchain/core", LANGCHAIN_CORE_RANGE);
  await importPeer("@langchain/langgraph-checkpoint", LANGGRAPH_RANGE, () => import("@langchain/langgraph-checkpoint"));
  assertPeerVersion("@langchain/langgraph-checkpoint", LANGGRAPH_RANGE);
}

/** The same for `require`, which cannot wait. */
export function assertPeersAreHere(): void {
  assertPeerIsHere("@langchain/core", LANGCHAIN_CORE_RANGE);
  assertPeerIsHere("@langchain/langgraph-checkpoint", LANGGRAPH_RANGE);
}
