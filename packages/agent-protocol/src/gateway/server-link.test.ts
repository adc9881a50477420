import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { randomContent } from "../testing/random-content.ts";
import { contentTreeOf } from "./content-tree.ts";
import { openServerLink, type ServerLinkFunctions, type ServerLinkStep, stepServerLink } from "./server-link.ts";

const hourMs = 3_600_000;
const now = 1_000 * hourMs;
const [content] = fc.sample(randomContent, { numRuns: 1, seed: 5 }).map(contentTreeOf);

const functions: ServerLinkFunctions = {
  sha256: (text) => createHash("sha256").update(text).digest("hex"),
  seal: ({ generation, expiresAt }, root, after) => {
    const issuedAt = (after?.issuedAt ?? now) + 1;
    return { header: { format: 1, tenant: "t", gateway: "g", generation, issuedAt, expiresAt, root }, signature: "" };
  },
};

/** Returns how often a gateway that applies everything is sent a configuration, up to ten. */
function sentTo(wanted: { readonly expiresAt: number; readonly lastsUntil: number; readonly lastsAtMost: number }) {
  let step: ServerLinkStep = stepServerLink(
    openServerLink({ generation: 1, content: content ?? expect.fail("no content"), ...wanted }),
    { type: "hello", enforces: null, held: undefined },
    functions,
  );
  let sent = 0;
  for (; sent < 10 && step.link.inFlight !== undefined; sent += 1) {
    step = stepServerLink(step.link, { type: "applied", configuration: step.link.inFlight.name }, functions);
  }
  return { sent, phase: step.link.phase };
}

test.each([
  ["the wanted lifetime", now + 24 * hourMs],
  ["a longer lifetime, because the server's clock was set back", now + 26 * hourMs],
  ["a shorter lifetime", now + 17 * hourMs],
])("a gateway that applied a configuration with %s is not sent another one", (_, expiresAt) => {
  const wanted = { expiresAt, lastsUntil: now + 18 * hourMs, lastsAtMost: now + 24 * hourMs + 60_000 };
  expect(sentTo(wanted)).toEqual({ sent: 1, phase: "settled" });
});
