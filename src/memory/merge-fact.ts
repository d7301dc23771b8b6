import { isSameText, memoryId } from "./identity.ts";
import type { Fact, Memory, PastValue, Provenance } from "./memory.ts";

/** What a fact did to what was known. */
export type Outcome =
  | "added"
  /** Said before: nothing new but that it was said again. */
  | "repeated"
  /** Took the place of what held until now. */
  | "superseded"
  /** Nothing holds any more. */
  | "ended"
  /** The same message was read before, or a later one says otherwise. Nothing changed. */
  | "known";

export interface Merged {
  readonly outcome: Outcome;
  readonly memory: Memory | undefined;
}

/** As many values of the past are kept with a memory. */
const LONGEST_HISTORY = 20;

/**
 * The memory after a fact. Pure, because the write around it may be repeated. What a person decided counts whenever it
 * was said.
 */
export function mergeFact(current: Memory | undefined, fact: Fact, provenance: Provenance, isDecided = false): Merged {
  if (current === undefined)
    return fact.ended === true ? { outcome: "known", memory: undefined } : added(fact, provenance);
  if (!isDecided && isOlder(provenance, current)) return { outcome: "known", memory: current };
  const isSame = current.status === "active" && isSameText(current.value, fact.value);
  if (fact.ended === true) return ended(current, fact, provenance);
  if (isSame) return repeated(current, provenance);
  const history = current.status === "active" ? withPast(current, provenance.at) : current.history;
  const { value, text, type } = fact;
  return {
    outcome: current.status === "active" ? "superseded" : "added",
    memory: {
      ...seenNow(current, provenance),
      type,
      value,
      text,
      status: "active",
      validFrom: provenance.at,
      provenance,
      history,
    },
  };
}

function added(fact: Fact, provenance: Provenance): Merged {
  const { type, subject, attribute, value, text } = fact;
  const { at, threadId, message } = provenance;
  const memory: Memory = {
    id: memoryId(fact),
    type,
    subject,
    attribute,
    value,
    text,
    status: "active",
    pinned: false,
    validFrom: at,
    provenance,
    history: [],
    seen: 1,
    lastSeen: { threadId, index: message.index, offset: message.offset, at },
    uses: 0,
    lastUsedAt: 0,
  };
  return { outcome: "added", memory };
}

export const repeated = (current: Memory, provenance: Provenance): Merged =>
  isOlder(provenance, current)
    ? { outcome: "known", memory: current }
    : { outcome: "repeated", memory: seenNow(current, provenance) };

/** Only a memory that holds can end, and only if it is what the user says has ended. */
function ended(current: Memory, fact: Fact, provenance: Provenance): Merged {
  if (current.status === "ended" || !isSameText(current.value, fact.value))
    return { outcome: "known", memory: current };
  const history = withPast(current, provenance.at);
  return { outcome: "ended", memory: { ...seenNow(current, provenance), status: "ended", history } };
}

const withPast = (current: Memory, validTo: number): readonly PastValue[] => {
  const { value, text, validFrom, provenance } = current;
  return [{ value, text, validFrom, validTo, provenance }, ...current.history].slice(0, LONGEST_HISTORY);
};

const seenNow = (current: Memory, { threadId, message, at }: Provenance): Memory => ({
  ...current,
  seen: current.seen + 1,
  lastSeen: { threadId, index: message.index, offset: message.offset, at },
});

/** Within a thread, the order of what was said decides, not the order in which it is read: a batch may be read twice. */
const isOlder = ({ threadId, message }: Provenance, { lastSeen }: Memory): boolean =>
  threadId !== null &&
  threadId === lastSeen.threadId &&
  (message.index < lastSeen.index || (message.index === lastSeen.index && message.offset <= lastSeen.offset));
