/** Earlier ones let a chunked body pass its limit, among other things. */
export const HONO_RANGE = ">=4.12.25 <5";
export const NODE_SERVER_RANGE = ">=2 <3";
