import { randomBytes } from "node:crypto";

/** An index on a node that others use too. */
export interface OwnIndex {
  readonly name: string;
  /** The URL of an unused namespace in it: making an index for each case would take most of the time. */
  namespace(): string;
  /** How many documents are in it, of whatever kind. */
  documents(): Promise<number>;
  remove(): Promise<void>;
}

export function ownIndex(serverUrl: string): OwnIndex {
  const name = `test-${randomBytes(6).toString("hex")}`;
  let count = 0;
  return {
    name,
    namespace: () => {
      const url = new URL(serverUrl);
      url.pathname = name;
      url.searchParams.set("replicas", "0");
      url.searchParams.set("namespace", `case ${++count}`);
      return url.href;
    },
    documents: async () => {
      await fetch(`${httpUrl(serverUrl)}/${name}/_refresh`, { method: "POST" });
      const response = await fetch(`${httpUrl(serverUrl)}/${name}/_count`);
      return ((await response.json()) as { count: number }).count;
    },
    remove: async () => void (await fetch(`${httpUrl(serverUrl)}/${name}-1`, { method: "DELETE" })),
  };
}

/** For requests that no client of ours makes. */
export function httpUrl(url: string): string {
  const { hostname, port } = new URL(url);
  return `http://${hostname}:${port}`;
}
