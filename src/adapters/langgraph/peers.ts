/** Delta channels came with 1.1, and the base class asks for no more since. */
export const LANGGRAPH_RANGE = ">=1.1 <2";
export const LANGCHAIN_CORE_RANGE = ">=1.1.48 <2";
