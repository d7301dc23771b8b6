import type {
  BytesAnswer,
  CheckpointsAnswer,
  DiffAnswer,
  InboxAnswer,
  LedgerAnswer,
  LineageAnswer,
  MessagesAnswer,
  PlacesAnswer,
  SearchAnswer,
  SeriesAnswer,
  StateAnswer,
  StoreAnswer,
  TextAnswer,
  ThreadAnswer,
  ThreadsAnswer,
  ValueAnswer,
} from "./api.ts";
import type {
  ErasureAnswer,
  ErasurePlan,
  GraphAnswer,
  InventoryAnswer,
  ItemAnswer,
  ItemsAnswer,
  NamespacesAnswer,
  NeighboursAnswer,
} from "./items-api.ts";
import type { CaseLine, DeletePlan, EventLine, HealthAnswer, ProofLine, WrittenAnswer } from "./service-api.ts";

/** What each route answers; of streams, one line. */
export interface Answers {
  readonly store: StoreAnswer;
  readonly threads: ThreadsAnswer;
  readonly inbox: InboxAnswer;
  readonly search: SearchAnswer;
  readonly thread: ThreadAnswer;
  readonly lineage: LineageAnswer;
  readonly checkpoints: CheckpointsAnswer;
  readonly series: SeriesAnswer;
  readonly messages: MessagesAnswer;
  readonly problems: PlacesAnswer;
  readonly find: PlacesAnswer;
  readonly ledger: LedgerAnswer;
  readonly state: StateAnswer;
  readonly value: ValueAnswer;
  readonly text: TextAnswer;
  readonly bytes: BytesAnswer;
  readonly events: EventLine;
  readonly diff: DiffAnswer;
  readonly graph: GraphAnswer;
  readonly namespaces: NamespacesAnswer;
  readonly items: ItemsAnswer;
  readonly item: ItemAnswer;
  readonly neighbours: NeighboursAnswer;
  readonly health: HealthAnswer;
  readonly proofs: ProofLine;
  readonly cases: CaseLine;
  readonly inventory: InventoryAnswer;
  readonly planErasure: ErasurePlan;
  readonly erase: ErasureAnswer;
  readonly fork: WrittenAnswer;
  readonly edit: WrittenAnswer;
  readonly answer: WrittenAnswer;
  readonly settle: WrittenAnswer;
  readonly breakLease: WrittenAnswer;
  readonly planDelete: DeletePlan;
  readonly delete: WrittenAnswer;
}
