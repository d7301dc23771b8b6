import { invalid, optionsOf } from "../driver/options.ts";

export interface EraseOptions {
  /** Looks and counts, and writes nothing. @default false */
  readonly dryRun?: boolean;
  /** Why, in words without personal data: they stand in the receipt. */
  readonly reason?: string;
  /** "keep" leaves checkpoints as they are and erases user data and items only. @default "erase" */
  readonly process?: "erase" | "keep";
  /** Gives a receipt although something could not be reached; the receipt says what. @default false */
  readonly acceptUnreached?: boolean;
  /** Gives a receipt although legal holds keep a part, and leaves that as it is; the receipt names the holds. @default false */
  readonly acceptHeld?: boolean;
}

export function checkedOptions(userId: string, given: EraseOptions | undefined): EraseOptions {
  const options = optionsOf("eraseUser", given, {
    dryRun: true,
    reason: true,
    process: true,
    acceptUnreached: true,
    acceptHeld: true,
  });
  const { reason, process } = options;
  if (process !== undefined && process !== "erase" && process !== "keep") {
    throw invalid('process must be "erase" or "keep"');
  }
  if (reason !== undefined && (typeof reason !== "string" || reason.length > 200)) {
    throw invalid("reason must be a text of at most 200 characters");
  }
  if (reason?.includes(userId)) throw invalid("reason must not name the person: it stands in the receipt for ever");
  return options;
}
