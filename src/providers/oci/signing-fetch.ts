import { createHash, createSign } from "node:crypto";
import type { SigningCredentials } from "./credentials.ts";

/** A `fetch` that signs what it sends, as OCI's request signatures (version 1) have it. */
export function signingFetch(credentials: () => Promise<SigningCredentials>, send: typeof fetch): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init.headers);
    // `x-date` stands for `date`, which not every fetch lets a program set.
    headers.set("x-date", new Date().toUTCString());
    const signed: [name: string, value: string][] = [
      ["x-date", headers.get("x-date") ?? ""],
      ["(request-target)", `${(init.method ?? "GET").toLowerCase()} ${url.pathname}${url.search}`],
      ["host", url.host],
      ...bodyHeaders(headers, init),
    ];
    const { keyId, privateKey } = await credentials();
    const text = signed.map(([name, value]) => `${name}: ${value}`).join("\n");
    const signature = createSign("RSA-SHA256").update(text).sign(privateKey, "base64");
    const names = signed.map(([name]) => name).join(" ");
    headers.set(
      "authorization",
      `Signature version="1",headers="${names}",keyId="${keyId}",algorithm="rsa-sha256",signature="${signature}"`,
    );
    return send(url, { ...init, headers });
  };
}

/** The content's length is signed but not set here: fetch sets it, and refuses a second one. */
function bodyHeaders(headers: Headers, { method = "GET", body }: RequestInit): [name: string, value: string][] {
  if (!["POST", "PUT", "PATCH"].includes(method.toUpperCase())) return [];
  if (body !== undefined && body !== null && typeof body !== "string") {
    throw new TypeError("oci: only a request whose body is text can be signed");
  }
  const bytes = Buffer.from(body ?? "", "utf8");
  headers.set("x-content-sha256", createHash("sha256").update(bytes).digest("base64"));
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return [
    ["content-length", String(bytes.length)],
    ["content-type", headers.get("content-type") ?? ""],
    ["x-content-sha256", headers.get("x-content-sha256") ?? ""],
  ];
}
