import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { backendOf } from "../../backends/open.ts";
import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { Durability } from "../../driver/durability.ts";
import { parseLocalUrl } from "../../driver/url.ts";
import { peerVersion } from "../../internal/import-peer.ts";

/**
 * Facts about a store and this installation that can be read without writing anything.
 */
export interface Surroundings {
  readonly backend: string;
  readonly durability: Durability;
  readonly durabilityIs: string;
  /** How far the storage's clock is ahead of this machine's; absent where it has none of its own. */
  readonly clockAheadMs?: number;
  /** The versions of the client packages that are installed. */
  readonly clients: Readonly<Record<string, string>>;
  readonly freeBytes?: number;
}

export async function surroundingsOf(url: string, context: CheckpointContext): Promise<Surroundings> {
  const { title, durability, capabilities, peers, schemes } = backendOf(url);
  const clients: Record<string, string> = {};
  for (const name of Object.keys(peers)) {
    const version = peerVersion(name);
    if (version !== undefined) clients[name] = version;
  }
  const aheadMs = await clockAhead(context);
  const free = ["sqlite", "file"].some((local) => schemes.includes(local)) ? await freeBytesAt(url) : undefined;
  return {
    backend: title,
    durability: context.log.capabilities.durability,
    durabilityIs:
      capabilities === "remote"
        ? "as the service says"
        : durability === "configured"
          ? "as the server is configured"
          : "by the way it writes",
    ...(aheadMs !== undefined && { clockAheadMs: aheadMs }),
    clients,
    ...(free !== undefined && { freeBytes: free }),
  };
}

/** Compared with the middle of the time that the answer took. */
async function clockAhead(context: CheckpointContext): Promise<number | undefined> {
  if (!context.log.capabilities.clock) return undefined;
  const asked = context.now();
  const theirs = await context.storageNow();
  return Math.round(theirs - (asked + context.now()) / 2);
}

async function freeBytesAt(url: string): Promise<number | undefined> {
  const { path } = parseLocalUrl(url);
  if (path === ":memory:") return undefined;
  try {
    const { bavail, bsize } = await statfs(dirname(path));
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
