import { policyCost, type Work, yieldAfter } from "../work.ts";
import { ByteColumn, IntColumn, NumberList } from "./columns.ts";
import { afterSide, beforeSide, bothSides, maskOf } from "./level-states.ts";
import { entryAt, type PolicyChain, ruleScope } from "./policy-chain.ts";
import type { RuleCertainties } from "./rule-certainties.ts";
import { type ComparedSubject, joinSteps, type PrincipalState, type SubjectGroup, stepOf } from "./subject-group.ts";

/** Finds the entries of a chain that apply to a subject, and the bits that each of them sets. */
export class StepReader {
  readonly #chain: PolicyChain;
  readonly #certainties: RuleCertainties;
  readonly #positions = new NumberList();
  /** The key of the user to whom `#positions` belongs; 0 if the positions depend on the device. */
  #positionsKey = 0;
  /** The key of the principal whose rule result was read last for each entry, and the bits of that result. */
  readonly #ruleKeys: IntColumn;
  readonly #ruleBits: ByteColumn;

  constructor(chain: PolicyChain, certainties: RuleCertainties) {
    this.#chain = chain;
    this.#certainties = certainties;
    this.#ruleKeys = new IntColumn(chain.entries.length);
    this.#ruleBits = new ByteColumn(chain.entries.length);
  }

  /** Replaces the steps and sides of a group by those of a subject. */
  *read(group: SubjectGroup, { before, after }: ComparedSubject): Work<void> {
    const { steps } = group;
    steps.clear();
    group.sides = (before === undefined ? 0 : beforeSide) | (after === undefined ? 0 : afterSide);
    if (before !== undefined && before === after) {
      yield* this.#addSteps(steps, before, bothSides);
      return;
    }
    if (before !== undefined) yield* this.#addSteps(steps, before, beforeSide);
    if (after === undefined) return;
    yield* this.#addSteps(steps, after, afterSide);
    if (before !== undefined) joinSteps(steps);
  }

  *#addSteps(steps: NumberList, principal: PrincipalState, sides: number): Work<void> {
    const { certainBits, ruleScopes } = this.#chain;
    const mask = maskOf(sides);
    let spent = 0;
    for (const position of this.#positionsFor(principal)) {
      spent += policyCost;
      const scope = ruleScopes.get(position);
      const bits = scope === ruleScope.none ? certainBits.get(position) : this.#bitsByRule(position, scope, principal);
      if ((bits & mask) !== 0) steps.push(stepOf(position, bits & mask));
      if (scope === ruleScope.none) continue;
      spent += this.#certainties.takeSpent();
      if (spent < yieldAfter) continue;
      yield spent;
      spent = 0;
    }
    yield spent;
  }

  #bitsByRule(position: number, scope: number, principal: PrincipalState): number {
    if (scope === ruleScope.user && this.#ruleKeys.get(position) === principal.key) return this.#ruleBits.get(position);
    const { rule, resource, certainBits, possibleBits } = entryAt(this.#chain, position);
    if (rule === undefined) return certainBits;
    const certainty = this.#certainties.of(rule, principal.model, principal, resource);
    const bits = certainty === "no" ? 0 : certainty === "yes" ? certainBits : possibleBits;
    this.#ruleKeys.set(position, principal.key);
    this.#ruleBits.set(position, bits);
    return bits;
  }

  /** Positions of the entries that apply to a principal, in ascending order. */
  #positionsFor({ model, user, device, groupIds, key }: PrincipalState): readonly number[] {
    const { forAnyone, forAnyGroup, forAnyDevice, byUser, byGroup, byDevice } = this.#chain;
    if (user === undefined) return forAnyone;
    const byThisDevice = device === undefined ? undefined : byDevice.get(device.id);
    const ignoresDevice = byThisDevice === undefined && (device === undefined || forAnyDevice.length === 0);
    const positions = this.#positions;
    if (ignoresDevice && this.#positionsKey === key) return positions.items;
    this.#positionsKey = ignoresDevice ? key : 0;
    positions.clear();
    positions.pushAll(forAnyone);
    positions.pushAll(byUser.get(user.id) ?? none);
    for (const id of groupIds) positions.pushAll(byGroup.get(id) ?? none);
    if (forAnyGroup.length > 0 && groupIds.some((id) => model.groups.get(id) !== undefined)) {
      positions.pushAll(forAnyGroup);
    }
    if (device !== undefined) positions.pushAll(forAnyDevice);
    positions.pushAll(byThisDevice ?? none);
    positions.sortUnique();
    return positions.items;
  }
}

const none: readonly number[] = [];
