import type { ResourceType } from "@gatehouse/contract/records/address";
import type { ResourceFacts } from "./facts.ts";
import { nextGeneration } from "./generation.ts";
import type { PolicyList } from "./policy-list.ts";
import type { SourceIndex } from "./source-index.ts";

/** A resource whose other facts are created when they are asked for. */
export interface LazyResource {
  readonly id: string;
  readonly type: ResourceType;
  /** The size of the row, in bytes. */
  readonly bytes: number;
  decode(): ResourceFacts;
}

/** The row size that the base cost of a record covers, in bytes. */
const freeBytes = 1_000;
/** The references to protocols in facts that need about as much memory as an ordinary resource. */
const referencesOfWeight = 100;

/**
 * A resource, prepared for decisions. A large tenant has several objects for one resource, one after the other, because
 * most of them are created when they are asked for.
 */
export class CompiledResource {
  readonly id: string;
  readonly type: ResourceType;
  /** Objects with the same generation have equal facts. */
  readonly generation: number;
  /** The cost of creating the other facts, in addition to the cost of a record. */
  readonly decodingCost: number;
  /** The size of the resource: 1 for an ordinary resource, and more with many addresses or references to protocols. */
  readonly weight: number;
  #facts: ResourceFacts | undefined;
  #lazy: LazyResource | undefined;
  #named: { readonly id: string; readonly name: string } | undefined;
  #forRules: { readonly name: string; readonly type: ResourceType } | undefined;
  #list = 0;
  #policies: SourceIndex | undefined;

  constructor(facts: ResourceFacts | LazyResource, generation = nextGeneration()) {
    this.id = facts.id;
    this.type = facts.type;
    this.generation = generation;
    if ("decode" in facts) {
      this.#lazy = facts;
      this.decodingCost = Math.max(0, facts.bytes - freeBytes);
      this.weight = 1 + Math.floor(facts.bytes / freeBytes);
      return;
    }
    this.#facts = facts;
    this.decodingCost = 0;
    const references = facts.addresses.reduce((sum, { protocols }) => sum + 1 + protocols.length, 0);
    this.weight = 1 + Math.floor(references / referencesOfWeight);
  }

  get facts(): ResourceFacts {
    return this.#facts ?? this.#decoded();
  }

  /** The reference to the resource in decisions. */
  get named(): { readonly id: string; readonly name: string } {
    this.#named ??= { id: this.id, name: this.facts.name };
    return this.#named;
  }

  /** The variable `resource` of admission rules. */
  get forRules(): { readonly name: string; readonly type: ResourceType } {
    this.#forRules ??= { name: this.facts.name, type: this.type };
    return this.#forRules;
  }

  /** The active policies of a list that name the resource. Cached for the last list. */
  policiesIn(list: PolicyList): SourceIndex | undefined {
    if (this.#list !== list.generation) {
      this.#list = list.generation;
      this.#policies = list.byResource.get(this.id);
    }
    return this.#policies;
  }

  #decoded(): ResourceFacts {
    if (this.#lazy === undefined) throw new Error("a resource has no facts");
    this.#facts = this.#lazy.decode();
    this.#lazy = undefined;
    return this.#facts;
  }
}
