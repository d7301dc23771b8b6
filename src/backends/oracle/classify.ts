import type { ErrorCode } from "../../errors.ts";
import { NETWORK_CODES } from "../../internal/network-codes.ts";

/** Error numbers of the server: https://docs.oracle.com/en/error-help/db/ */
const BY_ORA: Readonly<Record<string, readonly number[]>> = {
  CONFLICT: [1],
  // Two transactions conflicted, or the server was not ready: nothing was written.
  UNAVAILABLE: [
    ...[60, 1555, 3150, 4020, 4030, 4031, 4061, 4065, 4068, 8103, 8177, 12801, 12838, 22924, 51815],
    ...[28, 600, 603, 1012, 1033, 1034, 1089, 1090, 1092, 1109, 2396, 3113, 3114, 3135, 16000],
    ...[12514, 12521, 12528, 12537, 12541, 12543, 12545, 12547, 12570],
  ],
  TIMEOUT: [40, 54, 1013, 2049, 3136, 4021, 12170, 30006],
  RATE_LIMITED: [18, 20, 2391, 12516, 12519, 12520],
  PERMISSION_DENIED: [942, 1005, 1017, 1031, 1045, 1950, 12506, 28000, 28001, 28040, 28365, 41900],
  STORAGE_FULL: [257, 1536, 1652, 1653, 1654, 1658, 1659, 1688, 1691, 1692, 1693, 12954, 19809, 30036, 65114],
  TOO_LARGE: [1450, 1461, 1704, 12899, 22835, 40478],
  INVALID_ARGUMENT: [
    ...[900, 903, 904, 907, 911, 918, 920, 922, 923, 932, 933, 936, 972, 1400, 1722, 1918, 2290, 6502, 6550],
    ...[12154, 40441, 51803],
  ],
  CORRUPT: [1110, 1578, 8102, 22922, 26040],
};

/** Error numbers of the client. */
const BY_NJS: Readonly<Record<string, readonly number[]>> = {
  UNAVAILABLE: [64, 65, 82, 500, 501, 503, 504, 511, 513, 518, 519, 521, 530, 536],
  TIMEOUT: [40, 123, 510],
  RATE_LIMITED: [76],
  PERMISSION_DENIED: [87, 101, 116, 505, 506, 507, 508],
  INVALID_ARGUMENT: [
    ...[4, 5, 6, 7, 11, 12, 14, 16, 44, 57, 58, 75, 92, 97, 98, 105, 115, 149],
    ...[512, 514, 515, 516, 517, 520, 529, 533],
  ],
};

const byNumber = (codes: Readonly<Record<string, readonly number[]>>): ReadonlyMap<number, ErrorCode> =>
  new Map(
    Object.entries(codes).flatMap(([code, numbers]) => numbers.map((each) => [each, code as ErrorCode] as const)),
  );

const ORA = byNumber(BY_ORA);
const NJS = byNumber(BY_NJS);

/** Errors that only say where something failed; the actual error follows in the message. */
const WRAPPERS: ReadonlySet<number> = new Set([604, 4088, 6512, 6550, 12801]);

export function classify(error: unknown): ErrorCode | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === "string" && Object.hasOwn(NETWORK_CODES, code))
    return NETWORK_CODES[code as keyof typeof NETWORK_CODES];
  const client = numberAfter(code, "NJS");
  // If the server refused a connection, its error says why; the client's only says that it did.
  if (client !== undefined && client !== 511) return NJS.get(client);
  const numbers = oraNumbers(error);
  const cause = numbers.find((each) => !WRAPPERS.has(each) && ORA.has(each)) ?? numbers.find((each) => ORA.has(each));
  return cause === undefined ? NJS.get(client ?? 0) : ORA.get(cause);
}

/** The first number is the error's own. */
export function oraNumbers(error: unknown): readonly number[] {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const own = numberAfter(code, "ORA");
  const inside = [...String(message).matchAll(/\bORA-(\d{5})\b/g)].map(([, digits]) => Number(digits));
  return own === undefined ? inside : [own, ...inside];
}

/** Whether the error is, or was caused by, one of these server errors. */
export const isOra = (error: unknown, ...wanted: readonly number[]): boolean =>
  oraNumbers(error).some((each) => wanted.includes(each));

function numberAfter(code: unknown, prefix: string): number | undefined {
  const digits = typeof code === "string" ? new RegExp(`^${prefix}-(\\d+)$`).exec(code)?.[1] : undefined;
  return digits === undefined ? undefined : Number(digits);
}
