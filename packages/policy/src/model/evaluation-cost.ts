import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { sizeKeyOf } from "../admission-rules/record-sizes.ts";
import type { CompiledRule } from "./compiled-rule.ts";

/**
 * The cost of one evaluation of a rule in units of about 20 ns, as estimated for the sizes of the records. Depends on
 * nothing else: neither on the machine, nor on which operands the evaluation skips.
 */
export function estimatedCost(rule: CompiledRule, context: RuleContext): number {
  return rule.costFor(sizeKeyOf(context));
}
