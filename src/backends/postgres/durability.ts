import type { Durability } from "../../driver/durability.ts";

export interface ServerSettings {
  readonly fsync: string | null;
  readonly synchronous_commit: string | null;
  readonly synchronous_standby_names: string | null;
}

/** The columns that `durabilityOf` reads. */
export const SERVER_SETTINGS: string =
  "current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit, " +
  "current_setting('synchronous_standby_names') AS synchronous_standby_names";

/** The durability of the server's settings. A commit that only reached a standby's memory counts as one machine's. */
export function durabilityOf(settings: ServerSettings): Durability {
  const { fsync, synchronous_commit: commit, synchronous_standby_names: standbys } = settings;
  if (fsync === "off" || commit === "off") return "os";
  return (commit === "on" || commit === "remote_apply") && (standbys ?? "").trim() !== "" ? "replicated" : "fsync";
}
