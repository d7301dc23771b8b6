/** Builds Studio's page: `tsx scripts/build-studio.ts` writes dist/studio/page. */
import { buildStudio } from "./studio/build-page.ts";

const { folder, packedBytes } = await buildStudio();
console.log(`Studio's page: ${packedBytes} bytes packed, in ${folder}`);
