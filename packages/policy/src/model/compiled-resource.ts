import type { ResourceFacts } from "./facts.ts";
import type { PolicyList } from "./policy-list.ts";
import type { SourceIndex } from "./source-index.ts";

/** A resource, ready to be asked for. */
export class CompiledResource {
  readonly facts: ResourceFacts;
  /** What names it in decisions. */
  readonly named: { readonly id: string; readonly name: string };
  #list: PolicyList | undefined;
  #policies: SourceIndex | undefined;

  constructor(facts: ResourceFacts) {
    this.facts = facts;
    this.named = { id: facts.id, name: facts.name };
  }

  /** The active policies of a list that name the resource; looked up once for the same list. */
  policiesIn(list: PolicyList): SourceIndex | undefined {
    if (this.#list !== list) {
      this.#list = list;
      this.#policies = list.byResource.get(this.facts.id);
    }
    return this.#policies;
  }
}
