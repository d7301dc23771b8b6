import { randomBytes } from "node:crypto";

/** Indexes on a node that others use too, under names of their own. */
export interface FreshIndexes {
  /** The URL of one that is not there yet. */
  next(): Promise<string>;
  remove(): Promise<void>;
}

export function freshIndex(serverUrl: string): FreshIndexes {
  const prefix = `test-${randomBytes(6).toString("hex")}-`;
  let count = 0;
  let latest: string | undefined;
  const drop = async (pattern: string): Promise<void> => {
    await fetch(`${httpUrl(serverUrl)}/${pattern}`, { method: "DELETE" });
  };
  return {
    next: async () => {
      // A node has little room for shards, and a case is done with its own.
      if (latest !== undefined) await drop(`${latest}-1`);
      latest = `${prefix}${++count}`;
      const url = new URL(serverUrl);
      url.pathname = latest;
      return url.href;
    },
    remove: () => drop(`${prefix}*`),
  };
}

/** For requests that no client of ours makes. */
export const httpUrl = (url: string): string => {
  const { hostname, port } = new URL(url);
  return `http://${hostname}:${port}`;
};
