/**
 * Texts and questions by which the searches of two storages are held to each other: what is found must be the same
 * everywhere, whichever index does it. The order may differ.
 */
export const CORPUS: Readonly<Record<string, string>> = {
  stems: "She connected both cables; the connections were running late",
  short: "connect con",
  french: "Crème brûlée at the café, naïve façade",
  plain: "creme brulee, cafe",
  wide: "\uff23\uff21\uff26\uff25 \uff11\uff12\uff13",
  german: "Straße über Größe",
  turkish: "\u0130stanbul",
  greek: "\u1f48\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2 \u03c3\u03bf\u03c6\u03cc\u03c2",
  russian: "Привет, мир; Ёлка",
  hebrew: "שלום עולם",
  arabic: "مرحبا بالعالم",
  chinese: "保存会话状态",
  japanese: "セッション保存",
  korean: "세션 저장",
  emoji: "Launch 🚀 on Friday 👩‍🚀",
  hyphens: "state-of-the-art node-redis over e-mail",
  quotes: "don’t ask O'Brien's rock'n'roll",
  code: "pg_dump, C++ and snake_case_name in .NET",
  numbers: "12345 0042 3.14 10.0.0.1",
  long: `${"x".repeat(128)}${"y".repeat(60)} zebra`,
  repeated: `${"walrus ".repeat(400)}tail`,
};

interface Question {
  readonly query: string;
  /** Which threads hold a message with all of the words, whole or begun. */
  readonly threads: readonly string[];
  /** Which items have any of the words, stemmed. */
  readonly items: readonly string[];
}

const both = (query: string, ...found: readonly string[]): Question => ({ query, threads: found, items: found });

export const QUESTIONS: readonly Question[] = [
  both("connect", "short", "stems"),
  { query: "connection", threads: ["stems"], items: ["short", "stems"] },
  { query: "con", threads: ["short", "stems"], items: ["short"] },
  both("run", "stems"),
  both("cables late", "stems"),
  { query: "cables zebra", threads: [], items: ["long", "stems"] },
  both("cafe", "french", "plain", "wide"),
  both("CAFÉ", "french", "plain", "wide"),
  both("crème brulee", "french", "plain"),
  both("cafe\u0301", "french", "plain", "wide"),
  both("facade", "french"),
  { query: "123", threads: ["numbers", "wide"], items: ["wide"] },
  both("strasse"),
  both("STRAßE", "german"),
  { query: "uber grosse", threads: [], items: ["german"] },
  both("große", "german"),
  both("istanbul", "turkish"),
  both("ΟΔΥΣΣΕΥΣ", "greek"),
  both("σοφος", "greek"),
  both("ПРИВЕТ", "russian"),
  both("елка", "russian"),
  both("שלום", "hebrew"),
  both("مرحبا", "arabic"),
  both("会话", "chinese"),
  both("保存", "chinese", "japanese"),
  both("ッショ", "japanese"),
  both("저장", "korean"),
  both("🚀"),
  both("launch 🚀", "emoji"),
  both("node-redis", "hyphens"),
  both("redis-node", "hyphens"),
  both("email"),
  both("mail", "hyphens"),
  both("brien", "quotes"),
  both("O'Brien", "quotes"),
  both("pg_dump", "code"),
  both("PG_DUMP", "code"),
  both("dump"),
  { query: "snake_", threads: ["code"], items: [] },
  both("snake_case_name", "code"),
  both("12345", "numbers"),
  { query: "1234", threads: ["numbers"], items: [] },
  both("0042", "numbers"),
  both("42"),
  both("3.14", "numbers"),
  both("x".repeat(128), "long"),
  both("y".repeat(60), "long"),
  both(`${"x".repeat(128)}${"y".repeat(60)}`, "long"),
  { query: "x".repeat(127), threads: ["long"], items: [] },
  both("walrus", "repeated"),
  both("tail", "repeated"),
  both("absent"),
];
