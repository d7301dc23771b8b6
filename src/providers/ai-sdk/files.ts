import { ModelError } from "../../models/model-error.ts";
import type { FilePart } from "../../state/message.ts";
import type { PromptContext } from "./prompt-context.ts";
import type { PromptPart, UrlPatterns } from "./specification.ts";

/** Fetches a file that the provider does not fetch by itself. Which addresses may be called is for it to decide. */
export type DownloadFile = (request: {
  readonly url: string;
  readonly mediaType: string;
  readonly signal: AbortSignal | undefined;
}) => Promise<Uint8Array>;

/** A file of a user's or assistant's message, as the version of the interface writes it. */
export async function promptFile(part: FilePart, context: PromptContext): Promise<PromptPart> {
  const { source, mediaType } = await reachable(part, context, true);
  return { type: "file", mediaType, data: context.version === "v4" ? tagged(source) : source, ...filenameOf(part) };
}

/** A file inside a tool's result: each version has its own way to say it. */
export async function resultFile(part: FilePart, context: PromptContext): Promise<PromptPart> {
  const { version } = context;
  const { source, mediaType } = await reachable(part, context, version !== "v2");
  if (version === "v4") return { type: "file", mediaType, data: tagged(source), ...filenameOf(part) };
  const kind = mediaType.startsWith("image/") ? "image" : "file";
  if (source instanceof URL) return { type: `${kind}-url`, url: source.href };
  const data = Buffer.from(source).toString("base64");
  if (version === "v2") return { type: "media", data, mediaType };
  return { type: `${kind}-data`, data, mediaType, ...(kind === "file" && filenameOf(part)) };
}

const tagged = (source: Uint8Array | URL): object =>
  source instanceof URL ? { type: "url", url: source } : { type: "data", data: source };

const filenameOf = ({ filename }: FilePart): { filename?: string } => (filename === undefined ? {} : { filename });

interface ReachableFile {
  /** A URL only where the provider fetches it by itself. */
  readonly source: Uint8Array | URL;
  readonly mediaType: string;
}

async function reachable(part: FilePart, context: PromptContext, urlsAllowed: boolean): Promise<ReachableFile> {
  const { data, mediaType } = part;
  if (data instanceof Uint8Array) return { source: data, mediaType };
  const inline = /^data:([^,;]*)((?:;[^,;]*)*),(.*)$/is.exec(data.url);
  if (inline !== null)
    return { source: inlineBytes(context, inline[2], inline[3]), mediaType: mediaType || inline[1] || "text/plain" };
  if (!URL.canParse(data.url)) throw refusal(context, "a file's URL cannot be read; attach the bytes instead");
  const url = new URL(data.url);
  if (urlsAllowed && isFetchedBy(await context.model.supportedUrls, data.url, mediaType))
    return { source: url, mediaType };
  if (context.download === undefined) {
    // Names the host only: what a signed URL says behind it may be a key.
    throw refusal(
      context,
      `the provider does not fetch ${mediaType} from ${url.protocol}//${url.host}, and holdfast downloads nothing by ` +
        "itself; attach the bytes, or pass `download` to fromAiSdk() or modelFromString()",
    );
  }
  return { source: await context.download({ url: data.url, mediaType, signal: context.signal }), mediaType };
}

function inlineBytes(context: PromptContext, parameters = "", text = ""): Uint8Array {
  try {
    const decoded = decodeURIComponent(text);
    return new Uint8Array(Buffer.from(decoded, parameters.toLowerCase().endsWith(";base64") ? "base64" : "utf8"));
  } catch {
    throw refusal(context, "a file's data: URL cannot be read; attach the bytes instead");
  }
}

/** Patterns are matched against the URL in lower case: so the interface has it. */
export function isFetchedBy(patterns: UrlPatterns | undefined, url: string, mediaType: string): boolean {
  const [type, address] = [mediaType.toLowerCase(), url.toLowerCase()];
  return Object.entries(patterns ?? {}).some(([pattern, addresses]) => {
    const prefix = pattern === "*" || pattern === "*/*" ? "" : pattern.toLowerCase().replace(/\*$/, "");
    const fits = pattern.endsWith("*") ? type.startsWith(prefix) : type === prefix;
    // `search` and not `test`: it does not remember where it stopped last time.
    return fits && addresses.some((known) => address.search(known) !== -1);
  });
}

const refusal = ({ id }: PromptContext, why: string): ModelError =>
  new ModelError(`${id}: ${why}`, { retryable: false });
