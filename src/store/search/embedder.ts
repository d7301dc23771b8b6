import { reasonOf, StateError } from "../../errors.ts";
import { untilAborted, withDeadline } from "../../internal/time.ts";
import { checkedVector } from "./vectors.ts";

/** Turns texts into vectors, one for each, in order. */
export interface EmbedFunction {
  (
    texts: readonly string[],
    context: { readonly signal?: AbortSignal; readonly purpose: "store" | "search" },
  ): Promise<readonly (readonly number[] | Float32Array)[]>;
  /** The model's name, kept beside its vectors: `Object.assign(embed, { modelId: "…" })`. @default none is kept */
  readonly modelId?: string;
}

/** An embedding model of the AI SDK, of any specification; taken by its shape. */
export interface EmbeddingModel {
  /** Kept beside the vectors: an embedder of another name is refused. */
  readonly modelId: string;
  readonly maxEmbeddingsPerCall?: number | undefined | PromiseLike<number | undefined>;
  doEmbed(options: { values: string[]; abortSignal?: AbortSignal }): PromiseLike<{
    readonly embeddings: readonly (readonly number[])[];
  }>;
}

/** An embedding model of the AI SDK, or a function of your own. */
export type Embedder = EmbedFunction | EmbeddingModel;

export interface EmbeddingRequest {
  readonly purpose: "store" | "search";
  /** For each call of the model. A model that never answers must not hold a put, or a search, for ever. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A list that is given in one go where the model does not say how many it takes. */
const MOST_TEXTS = 96;

/** The vectors of some texts. Any failure of the model becomes one error that says so. */
export async function embed(
  embedder: Embedder,
  texts: readonly string[],
  request: EmbeddingRequest,
): Promise<readonly Float32Array[]> {
  const most = await mostTexts(embedder);
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += most) {
    const part = texts.slice(at, at + most);
    const made = await ask(embedder, part, request);
    if (!Array.isArray(made) || made.length !== part.length) {
      throw failed(`it gave ${Array.isArray(made) ? made.length : "no list of"} vectors for ${part.length} texts`);
    }
    for (const vector of made) vectors.push(checked(vector));
  }
  return vectors;
}

export function assertEmbedder(embedder: unknown): void {
  if (typeof embedder === "function") return;
  if (typeof (embedder as Partial<EmbeddingModel> | null)?.doEmbed === "function") return;
  throw new TypeError(
    "embedder is an embedding model of the AI SDK, or a function from texts to vectors; a model's name is neither",
  );
}

async function mostTexts(embedder: Embedder): Promise<number> {
  if (typeof embedder === "function") return MOST_TEXTS;
  const most = await embedder.maxEmbeddingsPerCall;
  return typeof most === "number" && most >= 1 ? Math.min(most, MOST_TEXTS) : MOST_TEXTS;
}

async function ask(
  embedder: Embedder,
  texts: readonly string[],
  { purpose, timeoutMs, signal: outer }: EmbeddingRequest,
): Promise<readonly unknown[]> {
  const made = async (signal: AbortSignal): Promise<readonly unknown[]> => {
    if (typeof embedder === "function") return embedder(texts, { purpose, signal });
    return (await embedder.doEmbed({ values: [...texts], abortSignal: signal })).embeddings;
  };
  try {
    return await withDeadline(timeoutMs, outer, (signal) => untilAborted(made(signal), signal));
  } catch (error) {
    if (outer?.aborted === true) throw error;
    throw failed(reasonOf(error), error);
  }
}

function checked(vector: unknown): Float32Array {
  try {
    return checkedVector(vector, "the vector", undefined);
  } catch (error) {
    throw failed(reasonOf(error), error);
  }
}

const failed = (reason: string, cause?: unknown): StateError =>
  new StateError("MODEL_FAILED", `the embedder failed: ${reason}`, { cause });
