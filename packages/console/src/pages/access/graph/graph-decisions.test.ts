import { expect, test } from "vitest";
import type { Decision } from "../say-access.ts";
import { readDecisions } from "./graph-decisions.ts";

const decided = (decision: boolean, reason: Decision["context"]["reason"]): Decision => ({
  decision,
  context: { reason, reasons: [reason] },
});
const yes = decided(true, "allowed_by_policy");
const no = decided(false, "no_policy_allows");

test("a resource is reached where any of the ways reaches it, and the reason that says most is told", () => {
  const found = readDecisions(["a", "b", "c", "d"], 2, [
    yes,
    no,
    no,
    yes,
    no,
    decided(false, "denied_by_policy"),
    no,
    no,
  ]);
  expect([...found]).toEqual([
    ["a", { isReached: true, words: "Reached now" }],
    ["b", { isReached: true, words: "Reached now, with a device" }],
    ["c", { isReached: false, words: "Not now: A policy denies it." }],
    ["d", { isReached: false, words: "Not now: No policy allows it." }],
  ]);
});
