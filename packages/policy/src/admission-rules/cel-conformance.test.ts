import { getConformanceSuite, type IncrementalTestSuite } from "@bufbuild/cel-spec/testdata/tests.js";
import { expect, test } from "vitest";
import { isUint } from "./cel-uint.ts";
import { checkRuleText } from "./check-rule.ts";
import { type Evaluation, prepareRule } from "./evaluate-rule.ts";

/**
 * The conformance data of the CEL specification. A rule that is accepted must be evaluated as the specification says.
 * Refused rules are listed with the reason in cel-conformance.txt.
 */

type SpecTest = IncrementalTestSuite["tests"][number]["original"];
type Expected = Extract<SpecTest["resultMatcher"], { case: "value" }>["value"];

/** An expression that the rule language refuses, with its reason. */
interface Refusal {
  readonly file: string;
  readonly expression: string;
  readonly reason: string;
}

interface Counts {
  right: number;
  refused: number;
  /** The specification demands an error, and the rule is refused when it is stored. */
  refusedErrors: number;
}

test("a rule that is accepted is evaluated as the CEL specification says", async () => {
  const counts = new Map<string, Counts>();
  const refusals: Refusal[] = [];
  const deviations: string[] = [];
  for (const { file, original } of specTests(getConformanceSuite())) {
    const count = counts.get(file) ?? { right: 0, refused: 0, refusedErrors: 0 };
    counts.set(file, count);
    const reason = refusalOf(original);
    if (reason !== undefined && demandsError(original)) count.refusedErrors++;
    else if (reason !== undefined) {
      count.refused++;
      refusals.push({ file, expression: printable(original.expr), reason });
    } else {
      const outcome = outcomeOf(original.expr);
      if (isExpected(original, outcome)) count.right++;
      else deviations.push(`${file}: ${original.expr} gives ${String(outcome.value ?? outcome.error)}`);
    }
  }
  expect(deviations).toEqual([]);
  await expect(report(counts, refusals)).toMatchFileSnapshot("../../cel-conformance.txt");
});

function* specTests(suite: IncrementalTestSuite, file?: string): Generator<{ file: string; original: SpecTest }> {
  for (const { original } of suite.tests) yield { file: file ?? suite.name, original };
  for (const nested of suite.suites) yield* specTests(nested, file ?? nested.name);
}

function printable(expression: string): string {
  return expression.replace(/[\p{Cc}\p{Cf}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

// Refusals ----------------------------------------------------------------------------------------------------------

/** Reasons, by the message of the check. The first that matches counts. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^(Function|\w+ (is a (method|function)|takes))/, "The function is not part of the rule language."],
  [/^Variable/, "The variable is not part of the rule language."],
  [/control character/, "A control character is written in the text."],
  [/time zone/, "A time zone is an IANA name."],
  [/nested|at most|too complex|more than/, "The size or the nesting is limited."],
  [/byte string/i, "Byte strings are written in ASCII."],
  [/(expected|can follow|can be|must be|has takes|reserved|cannot)/, "The syntax is not part of the rule language."],
  [
    /The rule gives|does not (take|exist)|must have the same type|requires bool|must be bool|index/,
    "The types do not fit.",
  ],
];

/** The reason for which an expression cannot be stored. Undefined if the expression is accepted. */
function refusalOf({ expr, disableMacros, resultMatcher }: SpecTest): string | undefined {
  if (disableMacros) return "The test switches macros off.";
  const isBool =
    resultMatcher.case === undefined || (resultMatcher.case === "value" && kindOf(resultMatcher.value) === "boolValue");
  // A rule gives true or false, so other expressions are compared with themselves.
  const check = checkRuleText(isBool ? expr : `dyn(${expr}) == dyn(${expr})`);
  if (check.ok) return undefined;
  const message = check.problems[0]?.message ?? "";
  return reasons.find(([pattern]) => pattern.test(message))?.[1] ?? message;
}

function demandsError({ resultMatcher }: SpecTest): boolean {
  return resultMatcher.case === "evalError" || resultMatcher.case === "anyEvalErrors";
}

// Evaluation --------------------------------------------------------------------------------------------------------

type Outcome =
  | { readonly value: unknown; readonly error?: never }
  | { readonly error: unknown; readonly value?: never };

function outcomeOf(expression: string): Outcome {
  try {
    const evaluate: Evaluation = prepareRule(expression).evaluate;
    return { value: evaluate({ source: {}, now: new Date(0) }) };
  } catch (error) {
    return { error };
  }
}

function isExpected(original: SpecTest, { value, error }: Outcome): boolean {
  const { resultMatcher } = original;
  if (demandsError(original)) return error !== undefined;
  if (error !== undefined) return false;
  if (resultMatcher.case === "value") return isSame(resultMatcher.value, value);
  if (resultMatcher.case === "typedResult" && resultMatcher.value.result !== undefined) {
    return isSame(resultMatcher.value.result, value);
  }
  return resultMatcher.case === "typedResult" || value === true;
}

function kindOf({ kind }: Expected): string | undefined {
  return kind.case;
}

function isSame({ kind }: Expected, value: unknown): boolean {
  switch (kind.case) {
    case "boolValue":
    case "stringValue":
    case "doubleValue":
      return Object.is(value, kind.value) || value === kind.value;
    case "int64Value":
      return value === kind.value;
    case "uint64Value":
      return isUint(value) && value.value === kind.value;
    case "bytesValue":
      return value instanceof Uint8Array && Buffer.from(value).equals(kind.value);
    case "nullValue":
      return value === null;
    case "listValue": {
      const { values } = kind.value;
      return (
        Array.isArray(value) && value.length === values.length && values.every((one, at) => isSame(one, value[at]))
      );
    }
    case "mapValue": {
      if (!(value instanceof Map) || value.size !== kind.value.entries.length) return false;
      const actual = [...value];
      return kind.value.entries.every(
        ({ key, value: wanted }) =>
          key !== undefined && wanted !== undefined && actual.some(([k, v]) => isSame(key, k) && isSame(wanted, v)),
      );
    }
    case "typeValue":
      // The rule language has no names for types beyond the standard ones, so rules cannot tell the names apart.
      return isTypeNamed(kind.value, String(value));
    default:
      return false;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  null_type: "null",
  "google.protobuf.Timestamp": "timestamp",
  "google.protobuf.Duration": "duration",
};

function isTypeNamed(name: string, actual: string): boolean {
  return actual.replace(/^Type<(\w+).*>$/, "$1") === (typeNames[name] ?? name);
}

// Report ------------------------------------------------------------------------------------------------------------

function report(counts: ReadonlyMap<string, Counts>, refusals: readonly Refusal[]): string {
  const row = (name: string, { right, refused, refusedErrors }: Counts) =>
    [name.padEnd(18), ...[right, refusedErrors, refused].map((count) => String(count).padStart(8))].join("");
  const total = { right: 0, refused: 0, refusedErrors: 0 };
  const rows = [...counts].map(([file, count]) => {
    total.right += count.right;
    total.refused += count.refused;
    total.refusedErrors += count.refusedErrors;
    return row(file, count);
  });
  const lists = [...groupByReason(refusals)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([reason, list]) =>
        `${reason} (${list.length})\n${list.map(({ file, expression }) => `  ${file}: ${expression}`).join("\n")}\n`,
    );
  return `${[
    "Conformance data of the CEL specification (packages/policy/src/admission-rules/cel-conformance.test.ts)",
    "",
    "right: evaluated as the specification says",
    "errors: the specification demands an error, and the rule is refused when it is stored",
    "refused: refused when it is stored, for the reasons below",
    "",
    `${"file".padEnd(18)}${["right", "errors", "refused"].map((name) => name.padStart(8)).join("")}`,
    ...rows,
    row("all", total),
    "",
    ...lists,
  ].join("\n")}`;
}

function groupByReason(refusals: readonly Refusal[]): Map<string, Refusal[]> {
  const groups = new Map<string, Refusal[]>();
  for (const refusal of refusals) {
    const group = groups.get(refusal.reason);
    if (group === undefined) groups.set(refusal.reason, [refusal]);
    else group.push(refusal);
  }
  return groups;
}
