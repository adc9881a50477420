import { type PreparedRule, prepareRule, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { type SizeKey, sizesOfKey } from "../admission-rules/record-sizes.ts";
import { costOfRule } from "../admission-rules/rule-cost.ts";
import { type Horizon, horizonOf } from "../admission-rules/rule-horizon.ts";
import { patternSizesOf } from "../admission-rules/rule-patterns.ts";
import type { RuleFacts } from "./facts.ts";
import { withoutStackTraces } from "./without-stack-traces.ts";

/** The result of a rule: whether it is met, or the error that ended its evaluation. A rule with an error is not met. */
export type RuleOutcome = boolean | Error;

/** An admission rule, parsed on first use. Most models never evaluate most of their rules. */
export class CompiledRule {
  readonly facts: RuleFacts;
  #prepared: PreparedRule | Error | undefined;
  /** Undefined if not computed yet. Null if the rule does not read the clock. */
  #horizon: Horizon | null | undefined;
  #costs: Map<SizeKey, number> | undefined;

  constructor(facts: RuleFacts) {
    this.facts = facts;
  }

  evaluate(context: RuleContext): RuleOutcome {
    const { type } = this.facts;
    if (type !== "CUSTOM") return type === "ALLOW";
    const prepared = this.prepared();
    if (prepared instanceof Error) return prepared;
    return withoutStackTraces(() => {
      try {
        const value = prepared.evaluate(context);
        if (typeof value === "boolean") return value;
        return new Error(`The rule gives ${typeof value}. It must give true or false.`);
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error));
      }
    });
  }

  /**
   * The time before which the result cannot change, in milliseconds since 1970. Undefined if the rule does not read the
   * clock.
   */
  horizon(context: RuleContext): number | undefined {
    return this.#horizonFunction()?.(context);
  }

  get readsNow(): boolean {
    return this.#horizonFunction() !== null;
  }

  #horizonFunction(): Horizon | null {
    if (this.#horizon === undefined) {
      const prepared = this.facts.type === "CUSTOM" ? this.prepared() : undefined;
      this.#horizon = prepared === undefined || prepared instanceof Error ? null : (horizonOf(prepared.ast) ?? null);
    }
    return this.#horizon;
  }

  /** The cost of one evaluation in rule-cost units. Invalid rules cost as much as built-in ones. */
  costFor(sizes: SizeKey): number {
    const known = this.#costs?.get(sizes);
    if (known !== undefined) return known;
    const prepared = this.facts.type === "CUSTOM" ? this.prepared() : undefined;
    const cost =
      prepared === undefined || prepared instanceof Error
        ? 1
        : costOfRule(prepared.ast, patternSizesOf(prepared.ast), sizesOfKey(sizes));
    this.#costs ??= new Map();
    this.#costs.set(sizes, cost);
    return cost;
  }

  /** The parsed rule, or an error for an invalid text. */
  prepared(): PreparedRule | Error {
    this.#prepared ??= prepare(this.facts.text ?? "");
    return this.#prepared;
  }
}

function prepare(text: string): PreparedRule | Error {
  try {
    return prepareRule(text);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
