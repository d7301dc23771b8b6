/** What a memory loads when it first recalls or remembers something. */

export { admit } from "./admission.ts";
export { resolveProvenance } from "./explain.ts";
export { extracted } from "./extracting.ts";
export { extractable } from "./extractor.ts";
export { ReadingPosition } from "./reading-position.ts";
export { recalledBlock, recalledIds } from "./recalled-block.ts";
