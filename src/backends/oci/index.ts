export type { OciAuth, OciAuthenticationProvider } from "./auth.ts";
export { OCIBucketBackend, type OCIBucketOptions, ociBucketCheckpointer } from "./checkpointer.ts";
export type { ObjectListing, ObjectStorageClientShape, OciConnection } from "./connect.ts";
export { type OciLifecyclePolicy, ociLifecyclePolicy } from "./lifecycle-policy.ts";
export { type OCIStoreOptions, ociStore } from "./store.ts";
