import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { agentLink, newAgentLink } from "./agent-link.ts";
import { handoverText, leadsTo, type SigningKeyHandover } from "./signing-key-handover.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
/** A signature scheme for tests: the key's name is enough to sign. */
const sign = (key: string, text: string) => sha256(`${key} signs ${text}`);
const verify = (text: string, signature: string, key: string) => signature === sign(key, text);
const handover = (from: string, to: string, by = from): SigningKeyHandover => ({
  from,
  to,
  signature: sign(by, handoverText({ from, to })),
});
const chain = [handover("A", "B"), handover("B", "C"), handover("C", "D")];

test("an agent follows all rotations that happened while it was offline", () => {
  expect(leadsTo("A", "D", chain, verify)).toBe(true);
  expect(leadsTo("C", "D", chain, verify)).toBe(true);
  expect(leadsTo("D", "D", [], verify)).toBe(true);
  expect(leadsTo("A", "D", chain.toReversed(), verify)).toBe(true);
});

test.each([
  ["a step is missing", "A", "D", [chain[0], chain[2]]],
  ["a step is signed by another key", "A", "D", [chain[0], handover("B", "C", "X"), chain[2]]],
  ["it would have to go back", "D", "A", chain],
  ["the steps form a circle", "A", "D", [handover("A", "B"), handover("B", "A")]],
  ["no step leads to the key", "A", "D", []],
] as const)("an agent does not follow if %s", (_why, from, to, handovers) => {
  const given = handovers.flatMap((each) => each ?? []);
  expect(leadsTo(from, to, given, verify)).toBe(false);
});

const step = agentLink<never, object, "forged">({
  headerOf: (message) => message,
  verify: () => "forged",
  ownerOf: () => ({ tenant: "T", agent: "G" }),
  explanations: { forged: "forged" },
});
const functions = { sha256, verify, now: () => 0, random: () => 0.5 };
const greeting = { ...newAgentLink<object>({ agent: "G", tenant: "T", signingKey: "A" }), phase: "greeting" } as const;

test("a link that is offered a later key pins it, and opens", () => {
  const message = { signingKey: "D", handovers: chain };
  const { link, outputs } = step(greeting, { type: "welcome", message }, functions);
  expect(link).toMatchObject({ phase: "open", signingKey: "D" });
  expect(outputs).toEqual([{ do: "pin", identity: message }]);
});

test("a link that is offered another key raises an alarm, and keeps its key", () => {
  const message = { signingKey: "D", handovers: [handover("X", "D")] };
  const { link, outputs } = step(greeting, { type: "welcome", message }, functions);
  expect(link).toMatchObject({ phase: "away", signingKey: "A" });
  expect(outputs[0]).toEqual({ do: "alarm", about: "signing_key" });
});
