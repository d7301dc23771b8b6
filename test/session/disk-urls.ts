import { join } from "node:path";

/** Where threads, items and the ledger lie in a directory. */
export const diskUrls = (
  backend: "file" | "sqlite",
  directory: string,
): { readonly threads: string; readonly items: string; readonly ledger: string } => ({
  threads: backend === "file" ? `file:${join(directory, "threads")}` : `sqlite:${join(directory, "threads.db")}`,
  items: `sqlite:${join(directory, "items.db")}`,
  ledger: `sqlite:${join(directory, "ledger.db")}`,
});
