import type { ItemId, Namespace } from "../store/driver/store-driver.ts";

/**
 * Records only that everything about a person was forgotten. How far their threads were
 * read goes with the memories; without the mark, the next turn of each thread would be
 * read from its beginning and bring everything back.
 */
export const forgottenMark = (namespace: Namespace): ItemId => ({
  namespace: [...namespace, "forgotten"],
  key: "everything",
});
