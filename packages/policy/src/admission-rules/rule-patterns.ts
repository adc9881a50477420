import { quoteText } from "@gatehouse/addresses/quote-text";
import type { ASTNode } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { RULE_LIMITS } from "./rule-language.ts";
import { asLiteralText, walkRule } from "./rule-syntax.ts";

export type PatternReading =
  | {
      readonly ok: true;
      readonly instructions: number;
      /** The maximum number of instructions that the search tries for one character of a text. */
      readonly instructionsPerCharacter: number;
    }
  | { readonly ok: false; readonly problem: string };

/**
 * Checks that a pattern of `matches` is in RE2 syntax and of bounded size. The work of a linear-time match is bounded
 * by the length of the text times the size of the program.
 *
 * @returns the size of the program in instructions, or a description of the problem
 */
export function readPattern(pattern: string): PatternReading {
  if (pattern.length > RULE_LIMITS.patternCharacters) {
    return { ok: false, problem: `A pattern can have at most ${RULE_LIMITS.patternCharacters} characters.` };
  }
  try {
    const compiled = RE2JS.compile(pattern);
    const instructions = compiled.programSize();
    // One instruction is tried for each character if the pattern is unambiguous or a plain text.
    const { onepass, prefixComplete } = compiled.re2Input;
    const isDirect = (onepass as object | null) !== null || prefixComplete; // null is absent from the library's type
    return { ok: true, instructions, instructionsPerCharacter: isDirect ? 0 : instructions };
  } catch (error) {
    const cause = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "";
    return { ok: false, problem: `${quoteText(pattern)} is not a pattern in RE2 syntax: ${cause}.` };
  }
}

/**
 * The instructions per character of the literal patterns of a stored rule, by the node of the pattern. Other patterns
 * are absent.
 */
export function patternSizesOf(root: ASTNode): ReadonlyMap<ASTNode, number> {
  const sizes = new Map<ASTNode, number>();
  walkRule(root, (node) => {
    if (node.op !== "rcall" || node.args[0] !== "matches") return true;
    for (const argument of node.args[2]) {
      const pattern = asLiteralText(argument);
      const reading = pattern === undefined ? undefined : readPattern(pattern);
      if (reading?.ok === true) sizes.set(argument, reading.instructionsPerCharacter);
    }
    return true;
  });
  return sizes;
}
