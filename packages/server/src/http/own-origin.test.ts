import type { FastifyRequest } from "fastify";
import { describe, expect, test } from "vitest";
import { requireOwnOrigin } from "./own-origin.ts";

/** Whether a write from a page of the origin is accepted. The browser sends no Sec-Fetch-Site. */
function isAccepted(origin: string, request: Partial<FastifyRequest>, publicUrl = "http://localhost:8080"): boolean {
  const server = { publicUrl: () => publicUrl };
  const whole = { method: "POST", protocol: "http", headers: { origin }, server, ...request };
  try {
    requireOwnOrigin(whole as unknown as FastifyRequest);
    return true;
  } catch {
    return false;
  }
}

describe("the origin of a write", () => {
  const host = "gatehouse.example.com";
  const https = `https://${host}`;
  const http = `http://${host}`;

  test.each([
    ["over TLS", { host, protocol: "https" as const }, undefined],
    ["behind a proxy that is not trusted, at the public address", { host }, https],
  ])("must have TLS %s", (_where, request, publicUrl) => {
    expect([isAccepted(https, request, publicUrl), isAccepted(http, request, publicUrl)]).toEqual([true, false]);
  });

  test("can have either scheme if the server cannot know whether a proxy uses TLS", () => {
    expect([isAccepted(https, { host }), isAccepted(http, { host })]).toEqual([true, true]);
    expect(isAccepted("http://10.0.0.1:8080", { host: "10.0.0.1:8080" }, https)).toBe(true);
  });

  test.each(["https://other.example.com", "https://gatehouse.example.com:8443", "null"])(
    "must have the host of the request: %s",
    (origin) => {
      expect(isAccepted(origin, { host }, https)).toBe(false);
    },
  );
});
