import type { AppendRequest } from "../../checkpoint/log/thread-log.ts";
import type { Ways } from "../../driver/groups.ts";
import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import type { Reply } from "./replies.ts";

export interface Appending {
  readonly threadId: string;
  readonly request: AppendRequest;
}

interface Sending extends Pick<Ways<Appending, Reply>, "one" | "many"> {
  /** In a cluster the threads of a group would be on different servers. */
  readonly isOneServer: () => boolean;
}

/**
 * Appends that wait at the same time are one script, and so one command, which a
 * server that syncs every command writes to the disk at once. A thread that is
 * created has an index to enter besides, and goes alone.
 */
export const appendWays = ({ one, many, isOneServer }: Sending): Ways<Appending, Reply> => ({
  one,
  many,
  mayShare: ({ request }) => request.expected.seq > 0 && isOneServer(),
  threadOf: ({ threadId }) => threadId,
  // A group that was answered stays together: without this, its first two calls would go alone each time.
  gathers: "answered",
  bytesOf: ({ request: { record, more = [], replace = [] } }) =>
    [...more, ...replace].reduce((bytes, { body }) => bytes + body.byteLength, record.body.byteLength),
  isRefusal: (error) => !UNCERTAIN.has(StateError.is(error) ? error.code : (classify(error) ?? "")),
});

/** The way to the server is what failed, and each has to find out by itself. */
const UNCERTAIN: ReadonlySet<string> = new Set(["UNAVAILABLE", "TIMEOUT", "CLOSED"]);
