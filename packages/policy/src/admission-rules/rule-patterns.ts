import { quoteText } from "@gatehouse/addresses/quote-text";
import { RE2JS } from "re2js";
import { RULE_LIMITS } from "./rule-language.ts";

export type PatternReading =
  | { readonly ok: true; readonly instructions: number }
  | { readonly ok: false; readonly problem: string };

/**
 * Whether a pattern of `matches` is RE2 syntax and of bounded size. The size matters because a linear-time match takes
 * up to the length of the text times the size of the program.
 *
 * @returns the size of its program in instructions, or a problem in words
 */
export function readPattern(pattern: string): PatternReading {
  if (pattern.length > RULE_LIMITS.patternCharacters) {
    return { ok: false, problem: `A pattern can have at most ${RULE_LIMITS.patternCharacters} characters.` };
  }
  try {
    return { ok: true, instructions: RE2JS.compile(pattern).matcher("").programSize() };
  } catch (error) {
    const cause = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "";
    return { ok: false, problem: `${quoteText(pattern)} is not a pattern in RE2 syntax: ${cause}.` };
  }
}
