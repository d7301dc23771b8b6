import type { IndexConfig } from "@langchain/langgraph-checkpoint";
import { invalid } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { untilAborted, withDeadline } from "../../internal/time.ts";

/** So many texts are given one time to be embedded in; more of them get as much more. */
const TEXTS_AT_A_TIME = 96;

/** The embeddings of a graph's `index`. LangChain's take no signal, and one that never answers must not hold a node for ever. */
export class GraphEmbeddings {
  readonly #index: IndexConfig;
  readonly #timeoutMs: number;

  constructor(index: IndexConfig, timeoutMs: number) {
    this.#index = index;
    this.#timeoutMs = timeoutMs;
  }

  async ofQuery(query: string): Promise<readonly number[]> {
    return this.#ofLength(await this.#answer(1, () => this.#index.embeddings.embedQuery(query)));
  }

  /** One question for all of them. */
  async ofTexts(texts: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const vectors = await this.#answer(texts.length, () => this.#index.embeddings.embedDocuments([...texts]));
    return new Map(texts.map((text, at) => [text, this.#ofLength(vectors[at])]));
  }

  async #answer<T>(texts: number, ask: () => Promise<T>): Promise<T> {
    const ms = this.#timeoutMs * Math.ceil(texts / TEXTS_AT_A_TIME);
    return withDeadline(ms, undefined, async (signal) => {
      try {
        return await untilAborted(ask(), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        throw new StateError("MODEL_FAILED", `the embeddings gave no answer within ${ms} ms`, { cause: error });
      }
    });
  }

  #ofLength(vector: readonly number[] | undefined): readonly number[] {
    const { dims } = this.#index;
    if (vector?.length === dims) return vector;
    throw invalid(`index.dims is ${dims}, and the embeddings made a vector of ${vector?.length ?? 0} numbers`);
  }
}
