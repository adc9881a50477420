import { Environment } from "@marcbachmann/cel-js";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { prepareRule, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { CompiledRule } from "../model/compiled-rule.ts";
import type { Openness } from "./open-circumstances.ts";
import { certaintyOf, costOfCertainty } from "./open-rule.ts";

/** Texts that are parsed: rules and their parts. */
const parse = vi.spyOn(Environment.prototype, "parse");

beforeEach(() => {
  parse.mockClear();
});

afterAll(() => {
  parse.mockRestore();
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

  /** Evaluates a rule with different known and unrelated names, and counts the texts that are parsed. */
  function evaluated(times: number) {
    const rule = ruleOf(text);
    const met = new Set<string>();
    parse.mockClear();
    for (let index = 0; index < times; index += 1) {
      for (const names of [["a"], ["a", "b"], ["b"], []]) {
        const others = Array.from({ length: 8 }, (_, other) => `unrelated ${index}-${other}`);
        const context = contextOf(Object.fromEntries([...names, ...others].map((name) => [name, false])));
        met.add(certaintyOf(rule, context, hypothetical([...names, ...others])));
      }
    }
    return { met: [...met].sort(), parsed: parse.mock.calls.map(([part]) => part) };
  }

  test("are prepared once, whatever names of the posture are known", () => {
    const { met, parsed } = evaluated(1);
    expect(met).toEqual(["no", "perhaps"]);
    const parts = ["device.posture.a == true", "device.posture.b == true", "user.level == 3"];
    expect(parsed).toEqual(expect.arrayContaining([text, ...parts]));
    expect(evaluated(50)).toEqual({ met, parsed });
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

describe("the brackets of a rule", () => {
  /** The cost of preparing the parts of a rule. */
  function preparation(text: string): number {
    const rule = ruleOf(text);
    const context = contextOf({ a: false });
    return costOfCertainty(rule, context, hypothetical(["a"])) - costOfCertainty(rule, contextOf({}), known);
  }
  const around = (count: number) =>
    `${"(".repeat(count)}device.posture.a ? 1 : 2${")".repeat(count)} == ${"(".repeat(count)}1${")".repeat(count)}`;

  test("are charged for by the number of texts that are parsed", () => {
    const parsed = [0, 8].map((count) => {
      const text = `${around(count)} && device.posture.b`;
      const cost = preparation(text);
      const rule = ruleOf(text);
      parse.mockClear();
      certaintyOf(rule, contextOf({ a: false }), hypothetical(["a"]));
      return { cost: cost / text.length, attempts: parse.mock.calls.length };
    });
    const [plain = expect.fail(), bracketed = expect.fail()] = parsed;
    const attempts = bracketed.attempts - plain.attempts;
    expect(attempts).toBeGreaterThan(10);
    expect(bracketed.cost - plain.cost).toBeGreaterThan(attempts);
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
