import assert from "node:assert/strict";

/** Why a provider would refuse a request, as it says so itself. */
export interface WireFault {
  readonly message: string;
  /** @default 400 */
  readonly status?: number;
  readonly param?: string;
}

export function assertNoWireFault(provider: string, fault: WireFault | undefined): void {
  if (fault !== undefined) throw new assert.AssertionError({ message: `${provider} refuses it: ${fault.message}` });
}

/** The first fault that any of the checks finds. */
export function firstFault(checks: Iterable<WireFault | undefined>): WireFault | undefined {
  for (const fault of checks) if (fault !== undefined) return fault;
  return undefined;
}

export const TOOL_NAME: RegExp = /^[a-zA-Z0-9_-]{1,64}$/;
