import type { ObjectBucket } from "../src/driver/object-bucket.ts";

/** The part of a bucket below a prefix, as a bucket: what each case of a suite has for itself on one server. */
export function below(prefix: string, bucket: ObjectBucket): ObjectBucket {
  return {
    maxObjectBytes: bucket.maxObjectBytes,
    get: (name) => bucket.get(`${prefix}${name}`),
    put: (name, bytes, expected) => bucket.put(`${prefix}${name}`, bytes, expected),
    delete: (name) => bucket.delete(`${prefix}${name}`),
    deleteIf: (name, version) => bucket.deleteIf(`${prefix}${name}`, version),
    async *list({ prefix: narrower, startAfter, end, ...options }) {
      const from = startAfter === undefined ? {} : { startAfter: `${prefix}${startAfter}` };
      const to = end === undefined ? {} : { end: `${prefix}${end}` };
      for await (const page of bucket.list({ ...options, ...from, ...to, prefix: `${prefix}${narrower}` })) {
        yield page.map((name) => name.slice(prefix.length));
      }
    },
    deleteOlderVersions: (narrower) => bucket.deleteOlderVersions(`${prefix}${narrower}`),
    mayHaveWritten: (error) => bucket.mayHaveWritten(error),
    close: () => bucket.close(),
  };
}
