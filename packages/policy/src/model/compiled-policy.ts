import type { IpAddress } from "@gatehouse/addresses/ip-address";
import { compileSourceIps, type SourceIps, sourceIpsContainAddress } from "@gatehouse/addresses/source-ips";
import type { CompiledRule } from "./compiled-rule.ts";
import type { PolicyFacts } from "./facts.ts";
import { anyoneHash, hashOf, type Source } from "./source.ts";
import type { Table } from "./table.ts";

/** A policy, prepared for decisions. */
export class CompiledPolicy {
  readonly facts: PolicyFacts;
  /** The reference to the policy in decisions. */
  readonly named: { readonly id: string; readonly name: string };
  /**
   * The position among the policies of the same type. Policies with smaller ranks come first. Only the order is
   * meaningful.
   */
  readonly rank: number;
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
  /** Whether the policy applies to every source. Traffic that enters at a site has no source. */
  readonly forAnyone: boolean;
  /** Hashes of all sources that the policy names, or only `anyoneHash`. */
  readonly hashes: readonly number[];
  readonly #sourceIps: SourceIps | undefined;
  #rules = 0;
  #rule: CompiledRule | undefined;

  /** @throws RangeError for a text in `sourceIps` that is neither an address nor a CIDR block */
  constructor(facts: PolicyFacts, rank: number) {
    this.facts = facts;
    this.named = { id: facts.id, name: facts.name };
    this.rank = rank;
    this.users = new Set(facts.users);
    this.groups = new Set(facts.groups);
    this.devices = new Set(facts.devices);
    this.forAnyone = facts.allUsers || facts.type === "SITETOSITE" || facts.isDefault;
    this.hashes =
      this.forAnyone || facts.allGroups || facts.allDevices
        ? [anyoneHash]
        : [...facts.users, ...facts.groups, ...facts.devices].map(hashOf);
    this.#sourceIps = facts.sourceIps.length === 0 ? undefined : compileSourceIps(facts.sourceIps);
  }

  /** The number of sources that the policy names. */
  get sourceCount(): number {
    return this.users.size + this.groups.size + this.devices.size;
  }

  withRank(rank: number): CompiledPolicy {
    return new CompiledPolicy(this.facts, rank);
  }

  /** Whether the policy applies to a source. One match suffices (contract, "Policy evaluation", step 3). */
  appliesTo(source: Source): boolean {
    if (this.forAnyone || this.users.has(source.userId)) return true;
    const { allGroups, allDevices } = this.facts;
    const { groupIds, deviceId } = source;
    if (allGroups && groupIds.length > 0) return true;
    if (this.groups.size > 0 && groupIds.some((id) => this.groups.has(id))) return true;
    return deviceId !== undefined && (allDevices || this.devices.has(deviceId));
  }

  /** Whether the policy restricts source addresses. */
  get hasSourceIps(): boolean {
    return this.#sourceIps !== undefined;
  }

  /**
   * Whether the policy applies to a source address. Evaluation fails closed: an unknown source address never matches a
   * policy that allows, and always matches a policy that denies.
   */
  appliesToSourceIp(sourceIp: IpAddress | undefined): boolean {
    if (this.#sourceIps === undefined) return true;
    return sourceIp === undefined ? !this.facts.action : sourceIpsContainAddress(this.#sourceIps, sourceIp);
  }

  /** The policy's admission rule. Undefined if the rule does not exist. */
  ruleIn(rules: Table<CompiledRule>): CompiledRule | undefined {
    if (this.#rules !== rules.generation) {
      this.#rules = rules.generation;
      this.#rule = rules.get(this.facts.rule);
    }
    return this.#rule;
  }
}

/** The index of the first policy with this rank or a larger one. */
export function indexOfRank(policies: readonly CompiledPolicy[], rank: number): number {
  let low = 0;
  let high = policies.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((policies[middle]?.rank ?? Number.POSITIVE_INFINITY) < rank) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Policies in order of rank without `before` and with `after`. */
export function replaced(
  policies: readonly CompiledPolicy[],
  before: CompiledPolicy | undefined,
  after: CompiledPolicy | undefined,
): readonly CompiledPolicy[] {
  const changed = [...policies];
  if (before !== undefined) {
    const place = indexOfRank(changed, before.rank);
    if (changed[place]?.rank === before.rank) changed.splice(place, 1);
  }
  if (after !== undefined) changed.splice(indexOfRank(changed, after.rank), 0, after);
  return changed;
}
