import type { StateFields } from "./fields.ts";
import type { Message } from "./message.ts";
import { own } from "./values/doorway.ts";
import { GrownList, type HeldList } from "./values/grown-list.ts";
import { makeNote, noteOn } from "./values/mark.ts";

/**
 * The fields as a state holds them: a long conversation that grew may not be put
 * together yet. Nobody outside this package gets them. Whoever needs only the end
 * of the conversation, or its length, takes these; all others `wholeFields`.
 */
export type HeldFields = Omit<StateFields, "messages"> & { readonly messages: HeldList<Message> };

/** A note on fields that form a state: making another state of them needs no second look. */
class Valid {
  /** Made when somebody reads them first. */
  whole: StateFields | undefined = undefined;
}

/** For fields that are whole, which are nearly all. */
const WHOLE = new Valid();

export const areValid = (fields: object): boolean => noteOn(fields) instanceof Valid;

export function noteValid(fields: HeldFields): void {
  if (!areValid(fields)) makeNote(fields, fields.messages instanceof GrownList ? new Valid() : WHOLE);
}

const isWhole = (fields: HeldFields): fields is StateFields => !(fields.messages instanceof GrownList);

/** The fields as everybody sees them: a frozen plain object, the same one every time for the fields of a state. */
export function wholeFields(held: HeldFields): StateFields {
  if (isWhole(held)) return held;
  const note = noteOn(held);
  if (!(note instanceof Valid)) return putTogether(held);
  if (note.whole === undefined) {
    note.whole = putTogether(held);
    noteValid(note.whole);
  }
  return note.whole;
}

const putTogether = (held: HeldFields): StateFields =>
  own({ ...held, messages: held.messages instanceof GrownList ? held.messages.list() : held.messages });
