import { signal } from "@preact/signals";

/** Every view has an address: it can be sent to another person, and "back" works. */
export interface Place {
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

function read(): Place {
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").map(decoded);
  return {
    path: parts[0] === "" ? ["threads"] : parts,
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal<Place>({ path: ["threads"], query: {} });

export function watchAddress(): void {
  const update = (): void => {
    place.value = read();
  };
  addEventListener("hashchange", update);
  update();
}

export type Search = Readonly<Record<string, string | number | undefined>>;

export function href(path: readonly string[], query: Search = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(key, String(value));
  const text = search.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export function go(path: readonly string[], query: Search = {}): void {
  location.hash = href(path, query);
}

/** The same view with something changed; no new step for "back". */
export function adjust(changes: Search): void {
  const { path, query } = place.value;
  history.replaceState(null, "", href(path, { ...query, ...changes }));
  place.value = read();
}

export type ThreadTab = "messages" | "timeline" | "ledger" | "state" | "lineage" | "charts" | "graph";

export const threadHref = (threadId: string, tab: ThreadTab = "messages", query: Search = {}): string =>
  href(["t", threadId, tab], query);
