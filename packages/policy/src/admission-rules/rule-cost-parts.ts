/** Parts of admission rules whose estimated cost is compared with measurements (`npm run bench:rules`). */
import type { RuleContext } from "./evaluate-rule.ts";
import { TIME_PARTS } from "./rule-language.ts";

export interface RulePart {
  readonly name: string;
  /** An expression that is evaluated several times in one list, so that the time of the rule itself is negligible. */
  readonly expression: string;
}

export interface WholeRule {
  readonly name: string;
  readonly rule: string;
}

/** The characters of the long text. The cost of a rule depends on the longest text of any record. */
const longText = 1_000;

/** The copies of an expression in one rule. */
export const copies = 16;

/** The rule that evaluates an expression several times. */
export function repeated(expression: string): string {
  return `[${Array.from({ length: copies }, () => expression).join(", ")}] != []`;
}

const groups = Array.from({ length: 256 }, (_, index) => `group-${String(index).padStart(3, "0")}`);
const long = "lorem ipsum dolor sit amet ".repeat(38).slice(0, longText);

const user: readonly (readonly [string, unknown])[] = [
  ["email", "somebody@example.com"],
  ["firstName", "Some"],
  ["lastName", "Body"],
  ["status", "active"],
  ["groups", groups],
  ["level", 3],
  ["short", "group-001"],
  ["at", "2026-01-01T00:00:00Z"],
];

/** The records that the rules read. */
const ruleCostContext: RuleContext = {
  user: new Map(user),
  device: {
    name: "laptop",
    os: "LINUX",
    osVersion: "6.1",
    appVersion: "1.0",
    hardwareId: "h",
    tags: [],
    agent: true,
    posture: new Map([["disk", true]]),
  },
  session: { authenticatedAt: Date.parse("2026-06-01T09:00:00Z"), methods: ["hwk"], provider: "main" },
  source: { ip: "203.0.113.7", country: "DE" },
  resource: { name: "Wiki", type: "PRIVATE" },
  now: new Date("2026-06-01T10:00:00Z"),
};

/** The same records with a long text. Only rules that read it are measured with it. */
const longContext: RuleContext = { ...ruleCostContext, user: new Map([...user, ["long", long]]) };

export function ruleCostContextOf(text: string): RuleContext {
  return text.includes("user.long") ? longContext : ruleCostContext;
}

const part = (name: string, expression: string = name): RulePart => ({ name, expression });

/** Every operator, function, method and comprehension of the language. */
export const ruleParts: readonly RulePart[] = [
  part("field ==", "user.email == 'x'"),
  part("attribute ==", "user.level == 3"),
  part("!=", "user.email != 'x'"),
  part("&&", "user.email == 'x' && user.email == 'y'"),
  part("||", "user.email == 'x' || user.email == 'y'"),
  part("!", "!(user.email == 'x')"),
  part("?:", "user.email == 'x' ? 1 : 2"),
  part("+ of numbers", "user.level + 2.0"),
  part("- of numbers", "user.level - 2.0"),
  part("* of numbers", "user.level * 2.0"),
  part("/ of numbers", "user.level / 2.0"),
  part("% of numbers", "int(user.level) % 2"),
  part("negation", "-user.level"),
  part("<", "user.level < 5.0"),
  part("<=", "user.level <= 5.0"),
  part(">", "user.level > 5.0"),
  part(">=", "user.level >= 5.0"),
  part("< of texts", "user.short < 'zzz'"),
  part("+ of texts", "user.short + 'x'"),
  part("+ of lists", "[1, 2] + [3]"),
  part("list", "[1, 2, 3]"),
  part("index of a list", "user.groups[0]"),
  part("map", "{'a': user.level, 'b': 2}"),
  part("in a list of 5", "user.short in ['a', 'b', 'c', 'd', 'e']"),
  part("in a map", "user.short in {'a': 1}"),
  part("entry of posture", "device.posture.disk"),
  part("now ==", "now == now"),
  part("session.age <", "session.age < duration('8h')"),
  part("timestamp", "timestamp('2020-01-01T00:00:00Z')"),
  part("timestamp of an attribute", "timestamp(user.at)"),
  part("- of timestamps", "now - now"),
  part("duration", "duration('90m')"),
  part("has", "has(user.level)"),
  part("type", "type(user.level)"),
  part("dyn", "dyn(user.level)"),
  part("bool", "bool('true')"),
  part("bytes", "bytes('abc')"),
  part("double", "double('1.5')"),
  part("int of a text", "int('12')"),
  part("int of a number", "int(user.level)"),
  part("uint", "uint('12')"),
  part("string of a number", "string(user.level)"),
  part("string of a text", "string(user.short)"),
  part("size", "size(user.short)"),
  part("size of 1,000 characters", "size(user.long)"),
  part(".size()", "user.short.size()"),
  part("startsWith", "user.short.startsWith('g')"),
  part("endsWith", "user.short.endsWith('x')"),
  part("contains", "user.short.contains('x')"),
  part("contains in 1,000 characters", "user.long.contains('zz')"),
  part("indexOf", "user.short.indexOf('-')"),
  part("indexOf in 1,000 characters", "user.long.indexOf('zz')"),
  part("lastIndexOf", "user.short.lastIndexOf('-')"),
  part("lastIndexOf in 1,000 characters", "user.long.lastIndexOf('zz')"),
  part("substring", "user.short.substring(1)"),
  part("substring of 1,000 characters", "user.long.substring(500)"),
  part("lowerAscii", "user.short.lowerAscii()"),
  part("lowerAscii of 1,000 characters", "user.long.lowerAscii()"),
  part("upperAscii", "user.short.upperAscii()"),
  part("upperAscii of 1,000 characters", "user.long.upperAscii()"),
  part("trim", "user.short.trim()"),
  part("trim of 1,000 characters", "user.long.trim()"),
  part("split", "user.short.split('-')"),
  part("split of 1,000 characters", "user.long.split(' ')"),
  part("join", "['a', 'b'].join('-')"),
  part("matches", "user.short.matches('^group-[0-9]+$')"),
  part("matches, 1,000 characters, unambiguous", "user.long.matches('^[a-z ]*$')"),
  part("matches, 1,000 characters, counted", "user.long.matches('[a-z ]{5,10}[^a-z ]')"),
  part("matches, 1,000 characters, long", "user.long.matches('[a-z ]{30}t{3}$')"),
  part("matches, 1,000 characters, alternatives", "user.long.matches('(a|b|ab)*(lo|re|em)+[^a-z]{3}$')"),
  ...[...TIME_PARTS].map((name) => part(name, `now.${name}()`)),
  part("getHours in a zone", "now.getHours('Europe/Berlin')"),
  part("getSeconds of a duration", "session.age.getSeconds()"),
  part("exists of 4", "['a', 'b', 'c', 'd'].exists(x, x == 'd')"),
  part("all of 4", "['a', 'b', 'c', 'd'].all(x, x != 'z')"),
  part("exists_one of 4", "['a', 'b', 'c', 'd'].exists_one(x, x == 'd')"),
  part("filter of 4", "['a', 'b', 'c', 'd'].filter(x, x != 'd')"),
  part("map of 4", "['a', 'b', 'c', 'd'].map(x, [x])"),
];

/** Rules whose cost grows with the records, and usual rules. */
export const wholeRules: readonly WholeRule[] = [
  { name: "all over 256 groups", rule: "user.groups.all(g, true)" },
  { name: "exists over 256 groups", rule: "user.groups.exists(g, g == 'x')" },
  { name: "exists_one over 256 groups", rule: "user.groups.exists_one(g, g == 'x')" },
  { name: "filter over 256 groups", rule: "user.groups.filter(g, g != 'x') == []" },
  { name: "map over 256 groups", rule: "user.groups.map(g, g) == []" },
  { name: "in 256 groups", rule: "'x' in user.groups" },
  { name: "an absorbed error for each of 256 groups", rule: "user.groups.all(g, user.missing == 1 || true)" },
  { name: "+ of 256 groups", rule: "(user.groups + user.groups).size() == 512" },
  { name: "join of 256 groups", rule: "user.groups.join(',') != ''" },
  { name: "== of 256 groups", rule: "user.groups == user.groups.filter(g, true)" },
  {
    name: "a usual rule of three conditions",
    rule: "user.email.endsWith('@example.com') && source.country in ['DE', 'FR'] && device.os == 'LINUX'",
  },
  {
    name: "office hours in a time zone",
    rule: "now.getHours('Europe/Berlin') >= 8 && now.getHours('Europe/Berlin') < 18",
  },
];
