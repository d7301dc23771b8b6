import { estimateTokens } from "../../src/conversation/estimate-tokens.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { textOf } from "../../src/state/message.ts";
import { canonicalJson } from "../../src/state/values/codec.ts";

export interface CacheReport {
  readonly calls: number;
  /** Tokens of a prompt, on the average. */
  readonly meanPrompt: number;
  /** The share of all prompt tokens that a provider could read from its cache. */
  readonly cacheable: number;
  /** What a call costs, in tokens at the full price: a cached one costs a tenth, a new one a quarter more. */
  readonly cost: number;
}

/**
 * What a provider's prompt cache can do for a series of requests: a token counts
 * as cached where the whole prompt up to it is that of the request before.
 */
export function cacheReport(requests: readonly ModelRequest[]): CacheReport {
  let [all, cached, cost] = [0, 0, 0];
  let before: readonly Part[] = [];
  for (const request of requests) {
    const parts = partsOf(request);
    const tokens = sum(parts);
    const shared = sum(parts.slice(0, sharedLength(before, parts)));
    all += tokens;
    cached += shared;
    cost += shared * 0.1 + (tokens - shared) * 1.25;
    before = parts;
  }
  return {
    calls: requests.length,
    meanPrompt: all / requests.length,
    cacheable: cached / all,
    cost: cost / requests.length,
  };
}

interface Part {
  readonly bytes: string;
  readonly tokens: number;
}

const partsOf = ({ messages, tools }: ModelRequest): readonly Part[] => [
  ...(tools.length === 0 ? [] : [{ bytes: canonicalJson(tools), tokens: estimateTokens(canonicalJson(tools)) }]),
  ...messages.map((message) => ({ bytes: canonicalJson(message), tokens: estimateTokens(textOf(message)) + 4 })),
];

function sharedLength(before: readonly Part[], now: readonly Part[]): number {
  let length = 0;
  while (length < now.length && before[length]?.bytes === now[length]?.bytes) length++;
  return length;
}

const sum = (parts: readonly Part[]): number => parts.reduce((total, { tokens }) => total + tokens, 0);
