import type { ObjectBucket } from "../driver/object-bucket.ts";
import { bucketSuite } from "./bucket-cases.ts";
import { type ConformanceOptions, registerSuite } from "./register-suite.ts";

/** Registers every duty of a bucket as a test. */
export const testBucket = (options: ConformanceOptions<ObjectBucket>): void => registerSuite(bucketSuite, options);
