import type { Ways } from "../../driver/groups.ts";
import { StateError } from "../../errors.ts";
import { type Appending, mayShare, mayShareEdits } from "./calls.ts";
import { sqlState } from "./classify.ts";

/** Appends that wait at the same time are one statement: `append_many`. The answer is whether it was appended. */
export const appendWays = (send: Pick<Ways<Appending, boolean>, "one" | "many">): Ways<Appending, boolean> => ({
  ...send,
  mayShare,
  threadOf: ({ threadId }) => threadId,
  bytesOf: ({ request }) => request.record.body.byteLength,
  // A group that is answered goes on as one: without this, its first two would go alone each time.
  gathers: "answered",
  isRefusal,
});

/** The same for appends that also change older records: `edit_many`. Fewer go together: each is more work. */
export const editWays = (send: Pick<Ways<Appending, boolean>, "one" | "many">): Ways<Appending, boolean> => ({
  ...send,
  mayShare: mayShareEdits,
  threadOf: ({ threadId }) => threadId,
  bytesOf: ({ request: { record, more = [], replace = [] } }) =>
    [record, ...more, ...replace].reduce((bytes, { body }) => bytes + body.byteLength, 0),
  most: 32,
  gathers: "turn",
  mostUnderWay: 1,
  isRefusal,
});

/** Not where the server gave up in the middle, or the connection did. */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(StateError.is(error) ? error.cause : error);
  return state !== undefined && /^[0-9A-Z]{5}$/.test(state) && !state.startsWith("08") && !state.startsWith("57");
}
