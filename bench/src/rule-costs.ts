/**
 * The cost model of admission rules: measures each operator, function and method, and compares the time with the
 * estimated cost. The common unit is the median time of a unit over all parts, so the result does not depend on the
 * speed of the machine. Parts within a factor of 2 of the common unit are within the model's tolerance.
 *
 *     npm run bench:rules [-- --quick]
 *
 * Times are processor times, and the shortest of several rounds: other programs on the machine hardly change them.
 */

import {
  copies,
  repeated,
  ruleCostContextOf,
  ruleParts,
  wholeRules,
} from "@gatehouse/policy/admission-rules/rule-cost-parts";
import { CompiledRule } from "@gatehouse/policy/model/compiled-rule";
import { estimatedCost } from "@gatehouse/policy/model/evaluation-cost";

const quick = process.argv.includes("--quick");
const roundMs = quick ? 10 : 40;
const rounds = quick ? 3 : 7;

interface Measurement {
  readonly name: string;
  readonly ns: number;
  readonly units: number;
}

const print = (line: string) => process.stdout.write(`${line}\n`);

// The first rules are slow until their code is optimized.
for (const { expression } of ruleParts) timeOf(repeated(expression), 1);
const literals = repeated("true");
const [literalsNs, literalsUnits] = [timeOf(literals), costOf(literals)];
const measurements: readonly Measurement[] = [
  ...ruleParts.map(({ name, expression }) => {
    const rule = repeated(expression);
    // The literal that the expression replaces costs a unit.
    const units = (costOf(rule) - literalsUnits) / copies + 1;
    return { name, ns: (timeOf(rule) - literalsNs) / copies + literalsNs / copies / copies, units };
  }),
  ...wholeRules.map(({ name, rule }) => ({ name, ns: timeOf(rule), units: costOf(rule) })),
];
const unitNs = median(measurements.map(({ ns, units }) => ns / units));
let outside = 0;
print(`A unit takes ${unitNs.toFixed(1)} ns.`);
print("| part | ns | units | units ÷ measured |");
print("|---|---|---|---|");
for (const { name, ns, units } of measurements) {
  const ratio = (units * unitNs) / ns;
  const isOutside = ratio < 0.5 || ratio > 2;
  if (isOutside) outside += 1;
  print(`| ${name} | ${ns.toFixed(0)} | ${units.toFixed(1)} | ${ratio.toFixed(2)}${isOutside ? " **" : ""} |`);
}
print(`${outside} of ${measurements.length} parts outside of a factor of 2`);

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >>> 1] ?? Number.NaN;
}

function compiled(text: string): CompiledRule {
  return new CompiledRule({ id: text, name: "", type: "CUSTOM", text });
}

function costOf(text: string): number {
  return estimatedCost(compiled(text), ruleCostContextOf(text));
}

/** The shortest processor time of several rounds for one evaluation, in nanoseconds. */
function timeOf(text: string, measured = rounds): number {
  const rule = compiled(text);
  const context = ruleCostContextOf(text);
  const result = rule.evaluate(context);
  if (typeof result !== "boolean") print(`${text} gives ${String(result).split("\n", 1)[0]}`);
  let shortest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < measured; round += 1) {
    let count = 0;
    let ns = 0;
    const before = process.cpuUsage();
    while (ns < roundMs * 1e6) {
      for (let index = 0; index < 20; index += 1) rule.evaluate(context);
      count += 20;
      const { user, system } = process.cpuUsage(before);
      ns = (user + system) * 1_000;
    }
    shortest = Math.min(shortest, ns / count);
  }
  return shortest;
}
