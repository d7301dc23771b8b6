import { CHECKPOINTERS } from "./checkpointers/kind.ts";
import { isAssertionOrStateError, oneOfEachArea, testBroken } from "./kind-test.ts";

const LONGEST: readonly string[] = ["hostile ids", "hostile values", "cost"];

testBroken("checkpointer that", CHECKPOINTERS, {
  isFinding: isAssertionOrStateError,
  controls: oneOfEachArea(CHECKPOINTERS, LONGEST),
});
