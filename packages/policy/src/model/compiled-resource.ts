import type { ResourceType } from "@gatehouse/contract/records/address";
import type { ResourceFacts } from "./facts.ts";
import type { PolicyList } from "./policy-list.ts";
import type { SourceIndex } from "./source-index.ts";

/** A resource, prepared for decisions. */
export class CompiledResource {
  readonly facts: ResourceFacts;
  readonly type: ResourceType;
  /** The reference to the resource in decisions. */
  readonly named: { readonly id: string; readonly name: string };
  /** The variable `resource` of admission rules. */
  readonly forRules: { readonly name: string; readonly type: ResourceType };
  #list = 0;
  #policies: SourceIndex | undefined;

  constructor(facts: ResourceFacts) {
    this.facts = facts;
    this.type = facts.type;
    this.named = { id: facts.id, name: facts.name };
    this.forRules = { name: facts.name, type: facts.type };
  }

  /** The active policies of a list that name the resource. Cached for the last list. */
  policiesIn(list: PolicyList): SourceIndex | undefined {
    if (this.#list !== list.generation) {
      this.#list = list.generation;
      this.#policies = list.byResource.get(this.facts.id);
    }
    return this.#policies;
  }
}
