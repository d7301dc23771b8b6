/**
 * How well what was said is found again: the dialogues of the project's own
 * corpus, asked with questions whose answers are known. Recall@k is the share of
 * a question's lines among the first k: of its own dialogue, or of all of them.
 */
import { InMemoryStore } from "../src/backends/memory/store.ts";
import { ConversationIndex, type SpokenLine } from "../src/memory/conversation-index.ts";
import type { EmbedFunction } from "../src/store/search/embedder.ts";
import { DIALOGUES } from "../test/memory/dialogue-corpus.ts";
import { cachedEmbedder, packagedModel } from "./packaged-model.ts";
import { renderTable } from "./table.ts";
import type { Verdict } from "./targets.ts";

const WAYS = ["text", "semantic", "hybrid"] as const;
type Way = (typeof WAYS)[number];

interface RetrievalRow {
  readonly way: string;
  readonly ownAt5: number;
  readonly ownAt10: number;
  readonly allAt5: number;
  readonly allAt10: number;
}

export async function benchRetrieval(): Promise<{ rows: readonly RetrievalRow[]; verdicts: readonly Verdict[] }> {
  const embedder = cachedEmbedder(await packagedModel());
  const index = await indexed(embedder, (lines) => [lines]);
  // Each line by itself: the others are empty, so that it has no neighbours.
  const alone = await indexed(embedder, (lines) =>
    lines.map((line, place) => lines.map((other) => (other === line ? other : { ...lines[place]!, text: "" }))),
  );
  const rows: RetrievalRow[] = [];
  for (const way of WAYS) rows.push(await measured(way, way, index));
  const withoutNeighbours = await measured("text, without neighbours", "text", alone);
  const questions = DIALOGUES.reduce((sum, dialogue) => sum + dialogue.questions.length, 0);
  console.log(
    `\nRetrieval: ${questions} questions about ${DIALOGUES.length} dialogues; vectors by the model of a package\n`,
  );
  console.log(
    renderTable(
      ["way", "recall@5", "recall@10", "@5 among all", "@10 among all"],
      [...rows, withoutNeighbours].map(({ way, ...figures }) => [
        way,
        ...Object.values(figures).map((one) => one.toFixed(3)),
      ]),
    ),
  );
  return { rows: [...rows, withoutNeighbours], verdicts: verdictsOn(rows, withoutNeighbours) };
}

function verdictsOn(rows: readonly RetrievalRow[], withoutNeighbours: RetrievalRow): readonly Verdict[] {
  const [text, semantic, hybrid] = rows as readonly [RetrievalRow, RetrievalRow, RetrievalRow];
  const names = ["ownAt5", "ownAt10", "allAt5", "allAt10"] as const;
  const hybridTargets = names.map((name) => {
    const limit = Math.max(text[name], semantic[name]);
    return {
      target: `hybrid is ahead of words and of vectors alone: ${name}`,
      limit,
      ...shown(hybrid[name], hybrid[name] > limit),
    };
  });
  const limit = withoutNeighbours.ownAt5;
  const neighbours = {
    target: "lines with their neighbours are ahead of lines alone",
    limit,
    ...shown(text.ownAt5, text.ownAt5 > limit),
  };
  return [...hybridTargets, neighbours];
}

const shown = (measured: number, met: boolean) => ({ measured, shown: measured.toFixed(3), met });

async function indexed(
  embedder: EmbedFunction,
  parts: (lines: readonly SpokenLine[]) => readonly (readonly SpokenLine[])[],
): Promise<ConversationIndex> {
  const index = new ConversationIndex({
    store: new InMemoryStore({ embedder }),
    namespace: ["said"],
    subject: "everyone",
  });
  for (const { id, lines } of DIALOGUES) {
    const spoken = lines.map(([speaker, text]) => ({ speaker, text }));
    for (const part of parts(spoken)) await index.add(id, part);
  }
  return index;
}

async function measured(name: string, way: Way, index: ConversationIndex): Promise<RetrievalRow> {
  return {
    way: name,
    ownAt5: await recallAt(5, way, index, true),
    ownAt10: await recallAt(10, way, index, true),
    allAt5: await recallAt(5, way, index, false),
    allAt10: await recallAt(10, way, index, false),
  };
}

async function recallAt(limit: number, mode: Way, index: ConversationIndex, isOwn: boolean): Promise<number> {
  let [sum, count] = [0, 0];
  for (const { id, questions } of DIALOGUES) {
    for (const [question, ...evidence] of questions) {
      const found = await index.search(question, { limit, mode, ...(isOwn && { threadId: id }) });
      const places = new Set(found.filter(({ threadId }) => threadId === id).map((line) => line.index));
      sum += evidence.filter((place) => places.has(place)).length / evidence.length;
      count++;
    }
  }
  return sum / count;
}
