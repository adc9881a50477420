import { beforeEach, describe, expect, test, vi } from "vitest";
import { prepareRule, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { CompiledRule } from "../model/compiled-rule.ts";
import type { Openness } from "./open-circumstances.ts";
import { certaintyOf, costOfCertainty } from "./open-rule.ts";

const prepared = vi.hoisted(() => ({ parts: 0 }));

vi.mock(import("../admission-rules/evaluate-rule.ts"), async (original) => {
  const real = await original();
  return {
    ...real,
    preparePart(part) {
      prepared.parts += 1;
      return real.preparePart(part);
    },
  };
});

beforeEach(() => {
  prepared.parts = 0;
});

const ruleOf = (text: string) => new CompiledRule({ id: "r", name: "Rule", type: "CUSTOM", text });
const known: Openness = { sourceIp: false, country: false, now: false };
const hypothetical = (names: readonly string[]): Openness => ({
  ...known,
  device: { knownPosture: new Set(names), isHypothetical: true },
});
const contextOf = (posture: Readonly<Record<string, boolean>>): RuleContext => ({
  user: { level: 3 },
  device: { posture: new Map(Object.entries(posture)) },
  source: {},
  now: new Date(0),
});

describe("the parts of a rule", () => {
  const text = "(device.posture.a == true || device.posture.b == true) && user.level == 3";

  test("are prepared once, whatever names of the posture are known", () => {
    const rule = ruleOf(text);
    const met: string[] = [];
    for (let index = 0; index < 50; index += 1) {
      for (const names of [["a"], ["a", "b"], ["b"], []]) {
        const others = Array.from({ length: 8 }, (_, other) => `unrelated ${index}-${other}`);
        const context = contextOf(Object.fromEntries([...names, ...others].map((name) => [name, false])));
        met.push(certaintyOf(rule, context, hypothetical([...names, ...others])));
      }
    }
    expect([...new Set(met)].sort()).toEqual(["no", "perhaps"]);
    // Each of the three comparisons.
    expect(prepared.parts).toBeLessThanOrEqual(3);
  });

  test("are charged for when they are prepared", () => {
    const [rule, longer] = [ruleOf(text), ruleOf(`${text} && ${"user.level == 3 && ".repeat(50)}true`)];
    const context = contextOf({ a: false });
    const evaluation = costOfCertainty(rule, contextOf({}), known);
    const first = costOfCertainty(rule, context, hypothetical(["a"]));
    expect(first - evaluation).toBeGreaterThan(text.length);
    expect(costOfCertainty(longer, context, hypothetical(["a"]))).toBeGreaterThan(5 * first);
    certaintyOf(rule, context, hypothetical(["a"]));
    expect(costOfCertainty(rule, context, hypothetical(["other"]))).toBe(evaluation);
  });
});

describe("an open part gives any result", () => {
  // An open part, and texts that give each of its results.
  const open = "source.country == 'DE'";
  const results = ["true", "false", "1 / 0 == 1"];
  const parts = ["true", "false", "user.level == 3", "user.level == 4", "user.missing == 1", "user.level"];
  const shapes = [
    ...["&&", "||"].flatMap((one) => [
      `A ${one} OPEN`,
      `OPEN ${one} A`,
      `!(A ${one} OPEN)`,
      ...["&&", "||"].flatMap((other) => [
        `(A ${one} B) ${other} OPEN`,
        `A ${one} (B ${other} OPEN)`,
        `(OPEN ${one} A) ${other} B`,
        `!(A ${one} B) ${other} OPEN`,
      ]),
    ]),
    "A ? B : OPEN",
    "A ? OPEN : B",
    "OPEN ? A : B",
    "(A ? B : A) && OPEN",
    "(A ? B : A) || OPEN",
  ];
  const context = contextOf({});

  test.each(shapes)("%s", (shape) => {
    for (const a of parts) {
      for (const b of shape.includes("B") ? parts : [""]) {
        const text = shape.replaceAll("A", `(${a})`).replaceAll("B", `(${b})`);
        const rule = ruleOf(text.replace("OPEN", open));
        const certainty = certaintyOf(rule, context, { ...known, country: true });
        const met = new Set(results.map((result) => ruleOf(text.replace("OPEN", result)).evaluate(context) === true));
        // Types that do not fit are an error of the whole text, which only some of the replacements have.
        const expected = met.size === 2 || !prepareRule(rule.facts.text ?? "").hasType() ? "perhaps" : undefined;
        expect({ text, certainty }).toEqual({ text, certainty: expected ?? (met.has(true) ? "yes" : "no") });
      }
    }
  });
});
