import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { calibrate } from "./calibrate.ts";
import { estimateTokens } from "./estimate-tokens.ts";

const digests = Array.from({ length: 20 }, (_, index) => createHash("sha256").update(String(index)).digest());
const many = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

/** A text of each kind, with what the tokenizer of a current model (o200k) counts for it. */
const SAMPLES: readonly (readonly [string, string, number])[] = [
  [
    "English",
    "Hi! I'm planning a trip to Tokyo next spring with my sister. We'd like to see the cherry blossoms, but we don't want to spend more than two weeks there. What would you suggest?",
    39,
  ],
  [
    "German",
    "Ich plane im Frühling eine Reise nach Tokio mit meiner Schwester. Wir möchten die Kirschblüten sehen, aber wir wollen dort nicht länger als zwei Wochen bleiben. Welche Unterkünfte würden Sie uns empfehlen, und wie kommen wir am günstigsten vom Flughafen in die Innenstadt?",
    54,
  ],
  [
    "French",
    "Je prévois un voyage à Tokyo au printemps avec ma sœur. Nous aimerions voir les cerisiers en fleurs, mais nous ne voulons pas y rester plus de deux semaines. Que nous conseillez-vous ?",
    43,
  ],
  [
    "Russian",
    "Весной я планирую поездку в Токио вместе с сестрой. Мы хотим увидеть цветение сакуры, но не хотим оставаться там дольше двух недель. Что вы нам посоветуете и как дешевле добраться из аэропорта?",
    55,
  ],
  [
    "Arabic",
    "أخطط لرحلة إلى طوكيو في الربيع مع أختي. نود أن نرى أزهار الكرز، لكننا لا نريد البقاء أكثر من أسبوعين هناك. بماذا تنصحنا؟",
    49,
  ],
  [
    "Hindi",
    "मैं अपनी बहन के साथ वसंत में टोक्यो की यात्रा की योजना बना रहा हूँ। हम चेरी के फूल देखना चाहते हैं, लेकिन दो सप्ताह से अधिक नहीं रहना चाहते।",
    41,
  ],
  [
    "Chinese",
    "我打算明年春天和妹妹一起去东京旅行。我们想看樱花，但是不想在那里待超过两个星期。你有什么建议吗？从机场到市中心最便宜的方式是什么？",
    46,
  ],
  [
    "Japanese",
    "来年の春に妹と東京へ旅行する予定です。桜を見たいのですが、二週間以上は滞在したくありません。何かおすすめはありますか？",
    40,
  ],
  [
    "Korean",
    "내년 봄에 여동생과 함께 도쿄로 여행을 갈 계획입니다. 벚꽃을 보고 싶지만 2주 이상 머물고 싶지는 않습니다. 무엇을 추천하시나요?",
    44,
  ],
  ["emoji", "🎉🚀🌸🍣🗼✈️🙌🏽👩‍💻🔥💡".repeat(5), 130],
  [
    "JSON with numbers",
    JSON.stringify(Array.from({ length: 100 }, (_, i) => ({ id: i * 7919, price: i * 3.17, ok: i % 2 === 0 }))),
    1547,
  ],
  ["hex", digests.map((digest) => digest.toString("hex")).join("\n"), 757],
  ["base64", Buffer.concat(digests).toString("base64"), 579],
  [
    "a server's log",
    many(
      30,
      (i) =>
        `2026-01-0${(i % 9) + 1}T12:0${i % 10}:33.120Z ERROR checkout-api[${i * 31}] upstream timed out after 3000ms (attempt ${i}/5)`,
    ),
    1080,
  ],
  ["addresses", many(10, (i) => `https://example.com/shop/items/${i * 97}?sort=price&page=${i}#reviews`), 179],
];

describe("the estimate", () => {
  test.each(SAMPLES)("of %s is within 12 % of what a tokenizer counts", (_, text, counted) => {
    expect(estimateTokens(text) / counted).toBeGreaterThan(0.88);
    expect(estimateTokens(text) / counted).toBeLessThan(1.12);
  });

  test("of nothing is nothing, and a megabyte costs milliseconds, not a stack", () => {
    expect(estimateTokens("")).toBe(0);
    for (const unit of ["a", "aB3", "+", "漢", "\n", "🎉", "ü"]) {
      expect(estimateTokens(unit.repeat(300_000))).toBeGreaterThan(1000);
    }
  });
});

describe("the calibration", () => {
  test("begins with the first report and then follows slowly", () => {
    expect(calibrate(null, 1000, 1300)).toBe(1.3);
    expect(calibrate(1.3, 1000, 2000)).toBeCloseTo(1.58);
  });

  test("does not move for a difference that does not matter: what is stored is written with the thread", () => {
    expect(calibrate(1.3, 1000, 1310)).toBeUndefined();
  });

  test.each([
    ["that counts nothing", 0],
    ["of a tenth of the request", 100],
    ["of ten times the request", 10_000],
    ["that is no number", Number.NaN],
  ])("ignores a report %s", (_, reported) => {
    expect(calibrate(1.3, 1000, reported)).toBeUndefined();
  });
});
