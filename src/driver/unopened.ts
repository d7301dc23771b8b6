import { StateError } from "../errors.ts";

/**
 * In an answer about many records, a sealing layer puts this in place of a text that
 * does not open: no reader takes it for a valid one, and the reader can say why. It
 * travels as text, over HTTP as well.
 */

/** How a sealed header begins: a reader without `sealing` must not take it for a damaged one. */
export const SEALED_HEADER = "hs1.";

/** How the text of a sealed item begins. It is the codec's form of a sealed value, which no program can put as a whole item. */
export const SEALED_ITEM = '{"$":"sealed","k":"is1.';

const CHANGED = "(this does not open)";
const BEGINS = "(this was sealed with the lost key ";
const ENDS = ")";

/** `undefined` for an error that is not the trouble of one text alone. */
export function unopenedText(error: unknown): string | undefined {
  if (StateError.is(error, "CORRUPT")) return CHANGED;
  const keyId = StateError.is(error) ? error.context.keyId : undefined;
  return keyId === undefined ? undefined : `${BEGINS}${keyId}${ENDS}`;
}

/** Why that text does not open; `undefined` for any other text. */
export function whyUnopened(text: string, what: string): StateError | undefined {
  if (text === CHANGED) {
    return new StateError(
      "CORRUPT",
      `${what} does not open in its place: it was damaged, changed, or moved there from elsewhere`,
    );
  }
  if (text.startsWith(SEALED_HEADER) || text.startsWith(SEALED_ITEM)) {
    return new StateError(
      "INCOMPATIBLE",
      `${what} is sealed: it is not damaged. Open this storage with the option \`sealing\`, and the keyring that belongs to it`,
    );
  }
  if (!text.startsWith(BEGINS) || !text.endsWith(ENDS)) return undefined;
  const keyId = text.slice(BEGINS.length, -ENDS.length);
  return new StateError(
    "PERMISSION_DENIED",
    `${what} was sealed with the key ${keyId}, which is not in the keyring: bring back the store of the keys that belongs to this data`,
    { keyId },
  );
}
