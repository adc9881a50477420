import { byCodePoint } from "./by-code-point.ts";
import type { GroupFacts, Properties, UserFacts } from "./facts.ts";
import { Principal } from "./principal.ts";
import type { Table } from "./table.ts";

/** A user, ready to ask for access. What depends on the groups is derived once and kept while they stay the same. */
export class CompiledUser {
  readonly facts: UserFacts;
  #groups = 0;
  #principal: Principal | undefined;
  #forRules: object | undefined;

  constructor(facts: UserFacts) {
    this.facts = facts;
  }

  /** The user without any device. */
  principalIn(groups: Table<GroupFacts>): Principal {
    if (this.#principal === undefined || this.#groups !== groups.generation) {
      const groupIds = [...new Set(this.facts.groups)].filter((id) => groups.get(id) !== undefined);
      this.#principal = Principal.user(this.facts, groupIds);
      this.#groups = groups.generation;
      this.#forRules = undefined;
    }
    return this.#principal;
  }

  /** The variable `user` of admission rules: the fields, and for anything else the attributes, which may have any name. */
  forRulesIn(groups: Table<GroupFacts>): object {
    const { groupIds } = this.principalIn(groups);
    this.#forRules ??= this.#variable(this.facts.attributes, groupIds, groups);
    return this.#forRules;
  }

  /** The same with attributes that a request gives in place of the stored ones. */
  forRulesWith(attributes: Properties, groups: Table<GroupFacts>): object {
    return this.#variable(attributes, this.principalIn(groups).groupIds, groups);
  }

  #variable(attributes: Properties, groupIds: readonly string[], groups: Table<GroupFacts>): object {
    const { email, firstName, lastName, status } = this.facts;
    const names = groupIds.flatMap((id) => groups.get(id)?.name ?? []);
    const fields = { email, firstName, lastName, status, groups: names.sort(byCodePoint) };
    return new Map<string, unknown>([...Object.entries(attributes), ...Object.entries(fields)]);
  }
}
