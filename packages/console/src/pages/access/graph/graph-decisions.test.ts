import { expect, test } from "vitest";
import type { Decision } from "../format-access.ts";
import { readDecisions } from "./graph-decisions.ts";

const decided = (decision: boolean, reason: Decision["context"]["reason"]): Decision => ({
  decision,
  context: { reason, reasons: [reason] },
});
const yes = decided(true, "allowed_by_policy");
const no = decided(false, "no_policy_allows");

const stuck: Decision = { ...yes, context: { ...yes.context, reasons: ["allowed_by_policy", "no_reachable_gateway"] } };

test("a resource is reached if one device choice reaches it, and a denial shows the most specific reason", () => {
  const denied = decided(false, "denied_by_policy");
  const deviceChoices = [undefined, "laptop"];
  const found = readDecisions(["a", "b", "c", "d", "e"], deviceChoices, [
    yes,
    no,
    no,
    yes,
    no,
    denied,
    no,
    no,
    stuck,
    stuck,
  ]);
  expect([...found]).toEqual([
    ["a", { isReached: true, words: "Allowed now" }],
    ["b", { isReached: true, words: "Allowed now, with a device", deviceId: "laptop" }],
    ["c", { isReached: false, words: "Not now: A policy denies access.", deviceId: "laptop" }],
    ["d", { isReached: false, words: "Not now: No policy allows access.", deviceId: "laptop" }],
    ["e", { isReached: true, words: "Allowed now, but no gateway is available" }],
  ]);
});
