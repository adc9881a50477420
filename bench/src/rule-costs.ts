/**
 * The cost model of admission rules: measures each operator, function and method, and compares the time with the
 * estimated cost. Ratios between 0.5 and 2 are within the model's tolerance.
 *
 *     npm run bench:rules [-- --quick]
 */
import { CompiledRule } from "@gatehouse/policy/model/compiled-rule";
import { estimatedCost } from "@gatehouse/policy/model/evaluation-cost";

const unitNs = 20;
const quick = process.argv.includes("--quick");
const roundMs = quick ? 10 : 40;
const rounds = quick ? 3 : 7;

const groups = Array.from({ length: 256 }, (_, index) => `group-${String(index).padStart(3, "0")}`);
const long = "lorem ipsum dolor sit amet ".repeat(38).slice(0, 1000);
const user = new Map<string, unknown>([
  ["email", "somebody@example.com"],
  ["firstName", "Some"],
  ["lastName", "Body"],
  ["status", "active"],
  ["groups", groups],
  ["level", 3],
  ["long", long],
  ["number", "12"],
  ["at", "2026-01-01T00:00:00Z"],
]);
const context = {
  user,
  device: {
    name: "laptop",
    os: "LINUX",
    osVersion: "6.1",
    appVersion: "1.0",
    hardwareId: "h",
    posture: new Map([["disk", true]]),
  },
  source: { ip: "203.0.113.7", country: "DE" },
  resource: { name: "Wiki", type: "PRIVATE" },
  now: new Date("2026-06-01T10:00:00Z"),
};

/** The expression is evaluated once for each group, so that the measurement of the loop itself can be subtracted. */
const inLoop = (expression: string) => `user.groups.all(g, ${expression})`;

const loops: readonly (readonly [name: string, expression: string])[] = [
  ["literal", "true"],
  ["variable", "g == g"],
  ["selection", "has(user.level)"],
  ["field ==", "user.email != g"],
  ["dynamic attribute ==", "user.level == 3"],
  ["&&", "true && true"],
  ["||", "false || true"],
  ["!", "!false"],
  ["?:", "true ? true : false"],
  ["int +", "1 + 2 == 3"],
  ["int *", "3 * 2 == 6"],
  ["int /", "3 / 2 == 1"],
  ["int %", "3 % 2 == 1"],
  ["int <", "3 < 5"],
  ["negation", "-(3) < 4"],
  ["text +", "g + 'x' != 'y'"],
  ["text <", "g < 'zzz'"],
  ["list literal", "[1, 2, 3] != []"],
  ["list index", "user.groups[0] != 'x'"],
  ["list +", "[1, 2] + [3] != []"],
  ["map literal", "{'a': 1, 'b': 2} != {}"],
  ["in list of 5", "g in ['a', 'b', 'c', 'd', g]"],
  ["in map", "'a' in {'a': 1}"],
  ["posture", "device.posture.disk == true"],
  ["now comparison", "now == now"],
  ["timestamp()", "timestamp('2020-01-01T00:00:00Z') != now"],
  ["timestamp() of a fact", "timestamp(user.at) != now"],
  ["timestamp -", "now - now == duration('0s')"],
  ["duration()", "duration('90m') != duration('1h')"],
  ["string(int)", "string(user.level) == '3'"],
  ["string(double)", "string(user.level) != ''"],
  ["int(text)", "int('12') == 12"],
  ["uint()", "uint(12) == 12u"],
  ["double()", "double('1.5') == 1.5"],
  ["bool()", "bool('true')"],
  ["bytes()", "bytes('abc') != b''"],
  ["type()", "type(user.level) == type(3.0)"],
  ["dyn()", "dyn(true)"],
  ["size()", "size(g) > 0"],
  ["size() of 1000 characters", "size(user.long) > 0"],
  [".size()", "g.size() > 0"],
  ["startsWith", "g.startsWith('g')"],
  ["endsWith", "!g.endsWith('x')"],
  ["contains", "!g.contains('x')"],
  ["contains in 1000 characters", "!user.long.contains('zz')"],
  ["indexOf", "g.indexOf('-') > 0"],
  ["lastIndexOf", "g.lastIndexOf('-') > 0"],
  ["substring", "g.substring(1) != ''"],
  ["lowerAscii", "g.lowerAscii() != ''"],
  ["lowerAscii of 1000 characters", "user.long.lowerAscii() != ''"],
  ["upperAscii", "g.upperAscii() != ''"],
  ["trim", "g.trim() != ''"],
  ["split", "g.split('-').size() == 2"],
  ["split of 1000 characters", "user.long.split(' ').size() > 2"],
  ["join", "['a', 'b'].join('-') == 'a-b'"],
  ["matches, 6 characters", "g.matches('^group-[0-9]+$')"],
  ["matches, 1000 characters", "user.long.matches('zz') == false"],
  ["matches, 1000 characters, counted", "user.long.matches('[a-z]{5,10} x') == false"],
  ["matches, 1000 characters, alternatives", "user.long.matches('(a|b|ab)*(lo|re|em)+[^a-z]{3}$') == false"],
  ["matches, 1000 characters, nested", "user.long.matches('([a-z ]*x?){8}y$') == false"],
  ["matches, computed", "g.matches('^group' + '-')"],
  ["getHours()", "now.getHours() == 10"],
  ["getHours(zone)", "now.getHours('Europe/Berlin') == 12"],
  ["getDayOfYear()", "now.getDayOfYear() > 0"],
  ["getFullYear(zone)", "now.getFullYear('Asia/Tokyo') == 2026"],
  ["getSeconds() of a duration", "duration('90s').getSeconds() == 90"],
  ["error absorbed by ||", "user.missing == 1 || true"],
  ["exists of 4", "['a', 'b', 'c', 'd'].exists(x, x == 'd')"],
  ["all of 4", "['a', 'b', 'c', 'd'].all(x, x != 'z')"],
  ["exists_one of 4", "['a', 'b', 'c', 'd'].exists_one(x, x == 'd')"],
  ["filter of 4", "['a', 'b', 'c', 'd'].filter(x, x != 'd').size() == 3"],
  ["map of 4", "['a', 'b', 'c', 'd'].map(x, x + 'y').size() == 4"],
];

const whole: readonly (readonly [name: string, rule: string])[] = [
  ["loop over 256 groups", "user.groups.all(g, true)"],
  ["exists over 256 groups", "user.groups.exists(g, g == 'x') == false"],
  ["in 256 groups", "!('x' in user.groups)"],
  ["filter over 256 groups", "user.groups.filter(g, g != 'x').size() == 256"],
  ["map over 256 groups", "user.groups.map(g, g + 'x').size() == 256"],
  ["+ of 256 groups", "(user.groups + user.groups).size() == 512"],
  ["join of 256 groups", "user.groups.join(',') != ''"],
  ["== of 256 groups", "user.groups == user.groups"],
  ["a usual rule", "user.email.endsWith('@example.com') && source.country in ['DE', 'FR'] && device.os == 'LINUX'"],
  ["office hours", "now.getHours('Europe/Berlin') >= 8 && now.getHours('Europe/Berlin') < 18"],
  [
    "the reviewer's rule, shortened",
    `!user.groups.exists(g, [${Array.from({ length: 5 }, (_, index) => `'v${index}'`).join()}].exists(h, timestamp('2020-01-01T00:00:00Z') != now && h == ''))`,
  ],
];

const print = (line: string) => process.stdout.write(`${line}\n`);

const base = measured(inLoop("true"));
const baseCost = costOf(inLoop("true"));
let outside = 0;
print("| part | ns | estimated units | units × 20 ns ÷ time |");
print("|---|---|---|---|");
for (const [name, expression] of loops) {
  const rule = inLoop(expression);
  const isLiteral = expression === "true";
  report(
    name,
    (measured(rule) - (isLiteral ? 0 : base)) / groups.length,
    (costOf(rule) - (isLiteral ? 0 : baseCost)) / groups.length,
  );
}
for (const [name, rule] of whole) report(name, measured(rule), costOf(rule));
print(`${outside} of ${loops.length + whole.length} parts outside of a factor of 2`);

function report(name: string, ns: number, units: number): void {
  const ratio = (units * unitNs) / ns;
  if (ratio < 0.5 || ratio > 2) outside += 1;
  print(
    `| ${name} | ${ns.toFixed(0)} | ${units.toFixed(1)} | ${ratio.toFixed(2)}${ratio < 0.5 || ratio > 2 ? " **" : ""} |`,
  );
}

function compiled(text: string): CompiledRule {
  return new CompiledRule({ id: text, name: "", type: "CUSTOM", text });
}

function costOf(text: string): number {
  return estimatedCost(compiled(text), context);
}

/** The shortest time of several rounds for one evaluation, in nanoseconds. */
function measured(text: string): number {
  const rule = compiled(text);
  const first = rule.evaluate(context);
  if (first !== true) print(`| ${text} gives ${String(first).split("\n", 1)[0]} |`);
  let shortest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    let count = 0;
    const startedAt = process.hrtime.bigint();
    let ns = 0;
    while (ns < roundMs * 1e6) {
      for (let index = 0; index < 10; index += 1) rule.evaluate(context);
      count += 10;
      ns = Number(process.hrtime.bigint() - startedAt);
    }
    shortest = Math.min(shortest, ns / count);
  }
  return shortest;
}
