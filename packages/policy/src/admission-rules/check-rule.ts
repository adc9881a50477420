import type { ASTNode } from "@marcbachmann/cel-js";
import { costFault } from "./rule-cost.ts";
import { RULE_LIMITS, ruleEnvironment } from "./rule-language.ts";
import { checkNames } from "./rule-names.ts";
import { readPattern } from "./rule-patterns.ts";
import { faultOfLibraryError, plainTypes, problemsOf, type RuleFault, type RuleProblem } from "./rule-problems.ts";
import { asLiteralText, asSelection, clockUse, walkRule } from "./rule-syntax.ts";

export type RuleCheck =
  | {
      readonly ok: true;
      /** Whether the result depends on the time of the decision, so that `hasTimeConstraint` is required. */
      readonly readsNow: boolean;
    }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

const MAX_PROBLEMS = 20;

/** Control characters except tab, line feed and carriage return, and lone surrogates, which UTF-8 cannot encode. */
const UNPRINTABLE = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u;

const parsing = ruleEnvironment();

/**
 * Checks the text of an admission rule (CEL; contract, "Admission rule text") before it is stored: its syntax, names,
 * types and patterns, and that its evaluation is bounded. Never throws. The limits bound the time of the check.
 *
 * @returns whether the rule reads the clock, or up to 20 problems in the order of the text. Names are checked before
 *   types, and only the first type error is reported.
 */
export function checkRuleText(text: string): RuleCheck {
  const unreadable = textFault(text);
  if (unreadable !== undefined) return rejected(text, [unreadable]);

  const root = parseRule(text);
  if ("message" in root) return rejected(text, [root]);

  const shape = survey(root);
  if (shape.faults.length > 0) return rejected(text, shape.faults);

  const fault = costFault(root, shape.patternSizes) ?? typeFault(text, shape.selectedNames);
  return fault === undefined ? { ok: true, readsNow: shape.readsNow } : rejected(text, [fault]);
}

function textFault(text: string): RuleFault | undefined {
  // A character takes at most two UTF-16 units, so most long texts need no counting.
  const { characters } = RULE_LIMITS;
  if (text.length > 2 * characters || (text.length > characters && [...text].length > characters)) {
    return { message: `The rule is longer than ${characters} characters. Shorten it or split it.`, at: 0 };
  }
  const unprintable = UNPRINTABLE.exec(text);
  if (unprintable !== null) {
    const message = "A control character or an incomplete character is not allowed. Remove it.";
    return { message, at: unprintable.index };
  }
  if (text.trim() === "")
    return { message: "The rule is empty. Write a condition, or true to admit every request.", at: 0 };
  return undefined;
}

function parseRule(text: string): ASTNode | RuleFault {
  try {
    return parsing.parse(text).ast;
  } catch (error) {
    return faultOfLibraryError(error, text);
  }
}

interface RuleShape {
  readonly readsNow: boolean;
  readonly selectedNames: ReadonlySet<string>;
  readonly patternSizes: ReadonlyMap<ASTNode, number>;
  readonly faults: readonly RuleFault[];
}

/** Collects, in one pass over the tree, the names in the rule and the problems that do not depend on types. */
function survey(root: ASTNode): RuleShape {
  const faults: RuleFault[] = [];
  const selectedNames = new Set<string>();
  const patterns: ASTNode[] = [];
  let readsNow = false;
  let deepest: ASTNode | undefined;
  walkRule(root, (node, bound, depth) => {
    if (depth > RULE_LIMITS.treeDepth) deepest ??= node;
    const names = checkNames(node, bound);
    faults.push(...names.faults);
    if (isUnreadableBytes(node))
      faults.push({ message: "A byte string can have ASCII characters only.", at: node.pos });
    const clock = clockUse(node, bound);
    readsNow ||= clock.reads;
    const name = asSelection(node)?.name;
    if (name !== undefined) selectedNames.add(name);
    if (node.op === "rcall" && node.args[0] === "matches") patterns.push(...node.args[2]);
    return names.descend && clock.descend;
  });
  if (deepest !== undefined) {
    const message = `More than ${RULE_LIMITS.treeDepth} operators are chained or nested. Use a list and "in" instead.`;
    return { readsNow, selectedNames, patternSizes: new Map(), faults: [{ message, at: deepest.pos }] };
  }
  const patternSizes = checkPatterns(patterns, faults);
  return { readsNow, selectedNames, patternSizes, faults };
}

/** The library reads other characters of a byte string as one byte each, instead of as UTF-8. */
function isUnreadableBytes(node: ASTNode): boolean {
  if (node.op !== "value" || !(node.args instanceof Uint8Array)) return false;
  return /\P{ASCII}/u.test(node.input.slice(node.start, node.end));
}

/** Reads the literal patterns, and stops when they exceed the limit together. */
function checkPatterns(patterns: readonly ASTNode[], faults: RuleFault[]): Map<ASTNode, number> {
  const sizes = new Map<ASTNode, number>();
  let total = 0;
  for (const node of patterns) {
    const pattern = asLiteralText(node);
    if (pattern === undefined) continue;
    const reading = readPattern(pattern);
    if (!reading.ok) {
      faults.push({ message: reading.problem, at: node.pos });
      if (faults.length >= MAX_PROBLEMS) break;
      continue;
    }
    sizes.set(node, reading.instructionsPerCharacter);
    total += reading.instructions;
    if (total > RULE_LIMITS.patternInstructions) {
      faults.push({ message: "The patterns of the rule are too large. Use smaller repetition counts.", at: node.pos });
      break;
    }
  }
  return sizes;
}

function typeFault(text: string, selectedNames: ReadonlySet<string>): RuleFault | undefined {
  try {
    const rule = ruleEnvironment(selectedNames).parse(text);
    const { valid, type, error } = rule.check();
    if (!valid) return faultOfLibraryError(error, text);
    if (type === "bool" || type === "dyn") return undefined;
    const message = `The rule gives ${plainTypes(type ?? "nothing")}. It must give true or false.`;
    return { message, at: rule.ast.start };
  } catch (error) {
    return faultOfLibraryError(error, text);
  }
}

function rejected(text: string, faults: readonly RuleFault[]): RuleCheck {
  return { ok: false, problems: problemsOf(text, faults).slice(0, MAX_PROBLEMS) };
}
