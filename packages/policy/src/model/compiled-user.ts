import { byCodePoint } from "./by-code-point.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";
import type { GroupFacts, Properties, UserFacts } from "./facts.ts";
import { markOf, marksOf } from "./source.ts";
import type { SourceIndex } from "./source-index.ts";
import type { Table } from "./table.ts";

/** A user, ready to ask for access. What depends on the rest of the model is derived once and kept while that stays the same. */
export class CompiledUser {
  readonly facts: UserFacts;
  #groups: Table<GroupFacts> | undefined;
  #groupIds: readonly string[] = [];
  #marks = 0;
  #forRules: object | undefined;
  #index: SourceIndex | undefined;
  #policies: readonly CompiledPolicy[] = [];

  constructor(facts: UserFacts) {
    this.facts = facts;
  }

  /** Ids of the groups that the user is in, those that there are. */
  groupIdsIn(groups: Table<GroupFacts>): readonly string[] {
    this.#refer(groups);
    return this.#groupIds;
  }

  /** The marks of the user and those groups. */
  marksIn(groups: Table<GroupFacts>): number {
    this.#refer(groups);
    return this.#marks;
  }

  /** The variable `user` of admission rules: the fields, and for anything else the attributes, which may have any name. */
  forRulesIn(groups: Table<GroupFacts>): object {
    this.#refer(groups);
    this.#forRules ??= this.forRulesWith(this.facts.attributes, groups);
    return this.#forRules;
  }

  /** The same with attributes that a request gives in place of the stored ones. */
  forRulesWith(attributes: Properties, groups: Table<GroupFacts>): object {
    const { email, firstName, lastName, status } = this.facts;
    const names = this.groupIdsIn(groups).flatMap((id) => groups.get(id)?.name ?? []);
    const fields = { email, firstName, lastName, status, groups: names.sort(byCodePoint) };
    return new Map<string, unknown>([...Object.entries(attributes), ...Object.entries(fields)]);
  }

  /** The policies of an index that name the user or one of those groups, in order of rank; of the last index that was asked for. */
  policiesIn(index: SourceIndex, groups: Table<GroupFacts>): readonly CompiledPolicy[] {
    this.#refer(groups);
    if (this.#index !== index) {
      this.#index = index;
      this.#policies = index.naming(this.facts.id, this.#groupIds);
    }
    return this.#policies;
  }

  #refer(groups: Table<GroupFacts>): void {
    if (this.#groups === groups) return;
    this.#groups = groups;
    this.#groupIds = [...new Set(this.facts.groups)].filter((id) => groups.get(id) !== undefined);
    this.#marks = markOf(this.facts.id) | marksOf(this.#groupIds);
    this.#forRules = undefined;
    this.#index = undefined;
  }
}
