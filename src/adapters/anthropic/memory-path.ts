export const ROOT = "/memories";

/** The key of a path that the model named: what follows `/memories/`. `""` is the folder itself; `undefined` is no path of ours. */
export function keyOfPath(path: unknown): string | undefined {
  if (typeof path !== "string" || !path.isWellFormed()) return undefined;
  if (path === ROOT || path === `${ROOT}/`) return "";
  if (!path.startsWith(`${ROOT}/`)) return undefined;
  const segments = path
    .slice(ROOT.length + 1)
    .replace(/\/$/, "")
    .split("/");
  return segments.every(isName) ? segments.join("/") : undefined;
}

const LONGEST_NAME = 200;
const ESCAPED = /%(?:2e|2f|5c|00)/i;

/** Nothing that another program would read as a way out, also after decoding. */
const isName = (segment: string): boolean =>
  segment !== "" &&
  segment !== "." &&
  segment !== ".." &&
  segment.length <= LONGEST_NAME &&
  !/[\\\u0000-\u001f\u007f]/.test(segment) &&
  !ESCAPED.test(segment);

export const pathOfKey = (key: string): string => (key === "" ? ROOT : `${ROOT}/${key}`);
