import { expect, test } from "vitest";
import { assistantMessage, type FilePart, toolMessage, userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { asked } from "./asked-sdk-model.ts";

const bytes = new Uint8Array([1, 2, 3]);
const picture: FilePart = { type: "file", mediaType: "image/png", data: bytes, filename: "graph.png" };
const linked = (url: string): FilePart => ({ type: "file", mediaType: "image/png", data: { url } });

test("bytes are sent as each version writes them", async () => {
  for (const [version, data] of [
    ["v2", bytes],
    ["v3", bytes],
    ["v4", { type: "data", data: bytes }],
  ] as const) {
    const { prompt } = await asked(version, [userMessage([picture])]);
    expect(prompt[0]!.content).toEqual([{ type: "file", mediaType: "image/png", data, filename: "graph.png" }]);
  }
});

test("a file in a result is sent as each version writes it", async () => {
  const messages = [
    userMessage("Hi"),
    assistantMessage("", { toolCalls: [{ id: "a", name: "f", arguments: {} }] }),
    toolMessage([{ type: "text", text: "see" }, picture, { ...picture, mediaType: "application/pdf" }], {
      toolCallId: "a",
      toolName: "f",
    }),
  ];
  const base64 = "AQID";
  const expected = {
    v2: [
      { type: "media", data: base64, mediaType: "image/png" },
      { type: "media", data: base64, mediaType: "application/pdf" },
    ],
    v3: [
      { type: "image-data", data: base64, mediaType: "image/png" },
      { type: "file-data", data: base64, mediaType: "application/pdf", filename: "graph.png" },
    ],
    v4: ["image/png", "application/pdf"].map((mediaType) => ({
      type: "file",
      mediaType,
      data: { type: "data", data: bytes },
      filename: "graph.png",
    })),
  };
  for (const [version, files] of Object.entries(expected)) {
    const { prompt } = await asked(version, messages);
    expect(prompt[2]!.content).toMatchObject([
      { output: { type: "content", value: [{ type: "text", text: "see" }, ...files] } },
    ]);
  }
});

test("a URL that the provider fetches is passed on", async () => {
  const supportedUrls = Promise.resolve({ "image/*": [/^https:\/\/cdn\.example\/.*$/g] });
  const file = linked("https://CDN.example/a.png");
  const url = new URL("https://cdn.example/a.png");
  for (const [version, data] of [
    ["v2", url],
    ["v3", url],
    ["v4", { type: "url", url }],
  ] as const) {
    const { prompt } = await asked(version, [userMessage([file, file])], {}, {}, { supportedUrls });
    expect(prompt[0]!.content).toEqual(Array(2).fill({ type: "file", mediaType: "image/png", data }));
  }
});

test("a URL in a result is passed on where the version can say it, else downloaded", async () => {
  const supportedUrls = { "*/*": [/^https:/] };
  const messages = [
    userMessage("Hi"),
    assistantMessage("", { toolCalls: [{ id: "a", name: "f", arguments: {} }] }),
    toolMessage([linked("https://x.example/a.png")], { toolCallId: "a", toolName: "f" }),
  ];
  const url = new URL("https://x.example/a.png");
  const expected = {
    v2: { type: "media", data: "AQID", mediaType: "image/png" },
    v3: { type: "image-url", url: url.href },
    v4: { type: "file", mediaType: "image/png", data: { type: "url", url } },
  };
  for (const [version, file] of Object.entries(expected)) {
    const { prompt } = await asked(version, messages, { download: async () => bytes }, {}, { supportedUrls });
    expect(prompt[2]!.content).toMatchObject([{ output: { type: "content", value: [file] } }]);
  }
});

test("a URL that the provider does not fetch is refused, without what may be a key in it", async () => {
  const file = linked("https://bucket.example/p/secret-token/graph.png?signature=abc");
  for (const supportedUrls of [undefined, {}, { "application/pdf": [/.*/] }, { "image/*": [/^https:\/\/other/] }]) {
    const failure = await failureOf(() => asked("v3", [userMessage([file])], {}, {}, { supportedUrls }));
    expect(failure).toMatchObject({ code: "MODEL_FAILED", retryable: false });
    expect(failure.message).toBe(
      "acme:m1: the provider does not fetch image/png from https://bucket.example, and holdfast downloads nothing by itself; " +
        "attach the bytes, or pass `download` to fromAiSdk() or modelFromString()",
    );
  }
});

test("a download that was handed in is used, and told the signal", async () => {
  const { signal } = new AbortController();
  const seen: unknown[] = [];
  const download = async (what: unknown) => {
    seen.push(what);
    return bytes;
  };
  const { prompt } = await asked("v2", [userMessage([linked("https://x.example/a.png")])], { download }, { signal });
  expect(prompt[0]!.content).toEqual([{ type: "file", mediaType: "image/png", data: bytes }]);
  expect(seen).toEqual([{ url: "https://x.example/a.png", mediaType: "image/png", signal }]);
});

test("a data: URL is read without a network; a broken URL is refused", async () => {
  const sent = async (url: string) => (await asked("v3", [userMessage([linked(url)])])).prompt[0]!.content;
  expect(await sent("data:image/png;base64,AQID")).toEqual([{ type: "file", mediaType: "image/png", data: bytes }]);
  expect(await sent("data:text/plain;charset=utf-8,a%20b")).toMatchObject([{ data: new TextEncoder().encode("a b") }]);
  for (const url of ["data:text/plain,%E0%A4%A", "not a url"]) {
    expect((await failureOf(() => sent(url))).message).toContain("cannot be read; attach the bytes instead");
  }
});
