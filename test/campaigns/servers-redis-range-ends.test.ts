import { testRangeEnds } from "../redis/range-ends.ts";

/** C2: both conformance suites whole, at the lower ends of the clients and servers that docs/redis.md names. */
await testRangeEnds(1);
