/** Builds Studio's page: `tsx scripts/build-studio.ts` writes dist/studio/page. */
import { buildStudio } from "./studio/build-page.ts";

const { folder, packedBytes } = await buildStudio();
// On stderr: npm pack prints JSON on stdout while this runs.
console.error(`Studio's page: ${packedBytes} bytes packed, in ${folder}`);
