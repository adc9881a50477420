import { type PreparedRule, prepareRule, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { type Horizon, horizonOf } from "../admission-rules/rule-horizon.ts";
import type { RuleFacts } from "./facts.ts";

/** What a rule gives: true when it is met, false when not, an error where its evaluation ended in one (which is not met either). */
export type RuleOutcome = boolean | Error;

/** An admission rule that can be asked. Its text is read when it is first asked: most models are never asked for most rules. */
export class CompiledRule {
  readonly facts: RuleFacts;
  #prepared: PreparedRule | Error | undefined;
  /** Undefined: not known yet. Null: the rule does not read the clock. */
  #horizon: Horizon | null | undefined;

  constructor(facts: RuleFacts) {
    this.facts = facts;
  }

  evaluate(context: RuleContext): RuleOutcome {
    const { type } = this.facts;
    if (type !== "CUSTOM") return type === "ALLOW";
    const prepared = this.prepared();
    if (prepared instanceof Error) return prepared;
    try {
      const value = prepared.evaluate(context);
      if (typeof value === "boolean") return value;
      return new Error(`The rule gives ${typeof value === "object" ? "no truth value" : typeof value}.`);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Until when time alone cannot change what the rule gives, in milliseconds since 1970; undefined: it never can. */
  horizon(context: RuleContext): number | undefined {
    if (this.#horizon === undefined) {
      const prepared = this.facts.type === "CUSTOM" ? this.prepared() : undefined;
      this.#horizon = prepared === undefined || prepared instanceof Error ? null : (horizonOf(prepared.ast) ?? null);
    }
    return this.#horizon === null ? undefined : this.#horizon(context);
  }

  /** The rule's parts, for explanations; an error for a text that is no rule. */
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
