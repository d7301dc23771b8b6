import type { Answers } from "./answer-types.ts";
import { diffAnswer } from "./answers/comparing.ts";
import { graphAnswer } from "./answers/graph.ts";
import { healthAnswer } from "./answers/health.ts";
import { itemAnswer, itemsAnswer, namespacesAnswer, neighboursAnswer } from "./answers/items.ts";
import { lineageAnswer } from "./answers/lineage.ts";
import { erase, inventoryAnswer, planErasure } from "./answers/people.ts";
import { seriesAnswer } from "./answers/series.ts";
import {
  bytesAnswer,
  findAnswer,
  ledgerAnswer,
  memberAnswer,
  messagesAnswer,
  problemsAnswer,
  stateAnswer,
  textAnswer,
} from "./answers/states.ts";
import { caseLines, eventLines, proofLines } from "./answers/streams.ts";
import {
  checkpointsAnswer,
  inboxAnswer,
  searchAnswer,
  storeAnswer,
  threadAnswer,
  threadsAnswer,
} from "./answers/threads.ts";
import { answer, breakLease, deleteThread, edit, fork, planDelete, settle } from "./answers/writing.ts";
import type { StudioRequest } from "./request.ts";
import type { RouteName } from "./routes.ts";
import type { StudioContext } from "./studio-context.ts";

/** One for each route. What is iterable goes out as lines of JSON while it lasts. */
export const OPERATIONS: {
  readonly [Name in RouteName]: (
    studio: StudioContext,
    request: StudioRequest,
  ) => Answers[Name] | Promise<Answers[Name]> | AsyncIterable<Answers[Name]>;
} = {
  store: storeAnswer,
  threads: threadsAnswer,
  inbox: inboxAnswer,
  search: searchAnswer,
  thread: threadAnswer,
  lineage: lineageAnswer,
  checkpoints: checkpointsAnswer,
  series: seriesAnswer,
  messages: messagesAnswer,
  problems: problemsAnswer,
  find: findAnswer,
  ledger: ledgerAnswer,
  state: stateAnswer,
  value: memberAnswer,
  text: textAnswer,
  bytes: bytesAnswer,
  events: eventLines,
  diff: diffAnswer,
  graph: graphAnswer,
  namespaces: namespacesAnswer,
  items: itemsAnswer,
  item: itemAnswer,
  neighbours: neighboursAnswer,
  health: healthAnswer,
  proofs: proofLines,
  cases: caseLines,
  inventory: inventoryAnswer,
  planErasure,
  erase,
  fork,
  edit,
  answer,
  settle,
  breakLease,
  planDelete,
  delete: deleteThread,
};
