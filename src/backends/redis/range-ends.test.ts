import { testRangeEnds } from "../../../test/redis/range-ends.ts";

/** C2: a sample of each; `npm run test:chaos` runs them whole. */
await testRangeEnds(12);
