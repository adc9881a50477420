import type { ASTNode } from "@marcbachmann/cel-js";
import { expect, test } from "vitest";
import { CompiledRule } from "../model/compiled-rule.ts";
import { estimatedCost } from "../model/evaluation-cost.ts";
import { checkRuleText } from "./check-rule.ts";
import { prepareRule } from "./evaluate-rule.ts";
import { functionCosts, methodCosts } from "./rule-cost.ts";
import { copies, repeated, ruleCostContextOf, ruleParts, wholeRules } from "./rule-cost-parts.ts";
import { COMPREHENSIONS, FUNCTIONS, METHODS, TIME_PARTS } from "./rule-language.ts";
import { walkRule } from "./rule-syntax.ts";

/** Operators that rules may use. The names of functions and methods are compared separately. */
const operators: readonly ASTNode["op"][] = [
  ...(["==", "!=", "<", "<=", ">", ">=", "in"] as const),
  ...(["+", "-", "*", "/", "%", "!_", "-_"] as const),
  ...(["&&", "||", "?:", "[]", ".", "list", "map", "value", "id"] as const),
];

function rule(text: string): CompiledRule {
  return new CompiledRule({ id: text, name: "", type: "CUSTOM", text });
}

function costOf(text: string, context = ruleCostContextOf(text)): number {
  return estimatedCost(rule(text), context);
}

/** The units of one copy of an expression. */
function partCost(expression: string): number {
  return (costOf(repeated(expression)) - costOf(repeated("true"))) / copies + 1;
}

test("every function, method and operator has a calibrated cost and is measured", () => {
  expect([...functionCosts.keys()].sort()).toEqual([...FUNCTIONS.keys()].sort());
  expect([...methodCosts.keys(), ...TIME_PARTS].sort()).toEqual([...METHODS.keys()].sort());
  const measured = new Set<string>();
  for (const { expression } of ruleParts) {
    walkRule(prepareRule(expression).ast, (node) => {
      measured.add(node.op);
      if (node.op === "call" || node.op === "rcall") measured.add(`${node.args[0]}()`);
      return true;
    });
  }
  const names = [...FUNCTIONS.keys(), ...METHODS.keys(), ...COMPREHENSIONS.keys()].map((name) => `${name}()`);
  expect([...operators, ...names].filter((name) => !measured.has(name))).toEqual([]);
});

test.each([
  ["user.groups.exists(g, g.lowerAscii() == user.team.lowerAscii())", 2],
  ["user.groups.exists(g, g.lowerAscii() == user.team.lowerAscii())", 3],
  ["user.groups.exists(g, g.lastIndexOf('-') > 3)", 3],
  ["user.groups.exists(g, string(string(user.team)).upperAscii() == g)", 1],
])("%s, %i times, is accepted as it was with former costs", (part, times) => {
  expect(checkRuleText(Array.from({ length: times }, () => part).join(" || "))).toMatchObject({ ok: true });
});

test("a rule with changes of case is refused if it takes much longer than any other rule", () => {
  const changes = ".upperAscii().lowerAscii()".repeat(8);
  const check = checkRuleText(`user.groups.exists(g, user.team${changes} == g)`);
  expect(check).toMatchObject({ ok: false, problems: [{ message: expect.stringContaining("could take too long") }] });
});

test("every measured rule ends without an error", () => {
  for (const text of [
    ...ruleParts.map(({ expression }) => repeated(expression)),
    ...wholeRules.map((whole) => whole.rule),
  ]) {
    expect(typeof rule(text).evaluate(ruleCostContextOf(text)), text).toBe("boolean");
  }
});

test("costs change only on purpose", async () => {
  const lines = [
    ...ruleParts.map(({ name, expression }) => `${partCost(expression).toFixed(1).padStart(8)}  ${name}`),
    ...wholeRules.map(({ name, rule: text }) => `${costOf(text).toFixed(1).padStart(8)}  ${name}`),
  ];
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("../../rule-costs.txt");
});

test.each([
  ["size(user.long)", 3, 4.5],
  ["user.long.split(' ')", 3, 4.5],
  ["user.long.lowerAscii()", 3, 4.5],
  ["user.long.upperAscii()", 3, 4.5],
  ["user.long.lastIndexOf('zz')", 2, 4.5],
  ["user.long.matches('a+b')", 3, 4.5],
  ["user.groups.exists(g, g == 'x')", 3, 4.5],
  ["user.groups.map(g, g) == []", 3, 4.5],
  ["'x' in user.groups", 3, 4.5],
  ["user.long == 'x'", 1, 1.1],
  ["type(user.long) == string", 1, 1.1],
  ["user.groups.size() == 1", 1, 1.1],
])("the cost of %s grows like its time when its input is four times as large", (expression, least, most) => {
  const contextOf = (size: number) => {
    const context = ruleCostContextOf(expression);
    const groups = Array.from({ length: size / 4 }, () => "x");
    const user = new Map<string, unknown>([
      ["long", "x".repeat(size)],
      ["groups", groups],
    ]);
    return { ...context, user };
  };
  const [small, large] = [contextOf(256), contextOf(1_024)].map((context) => costOf(expression, context));
  const growth = (large ?? 0) / (small ?? 1);
  expect(growth).toBeGreaterThanOrEqual(least);
  expect(growth).toBeLessThanOrEqual(most);
});

test("the cost of a pattern grows with its program, unless each character needs only one instruction", () => {
  const costWith = (pattern: string) => costOf(`user.long.matches('${pattern}')`);
  expect(costWith("(.{1,20}a){8}$") / costWith("(.{1,20}a){2}$")).toBeGreaterThan(3);
  expect(costWith("^[a-z]{80}$") / costWith("^[a-z]{20}$")).toBeLessThan(1.1);
});
