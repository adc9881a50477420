import { policyCost, yieldAfter } from "../work.ts";
import { ByteColumn, IntColumn, NumberList, NumberLists } from "./columns.ts";
import type { ComparedSubject, PrincipalState } from "./compared-subject.ts";
import type { NumberedGroups } from "./compared-subjects.ts";
import { afterSide, beforeSide, bothSides, maskOf, type Sides } from "./level-states.ts";
import { conditionAt, type PolicyChain, ruleScope } from "./policy-chain.ts";
import type { RuleCertainties } from "./rule-certainties.ts";

/** Set in the reason for an entry that applies to a device of the user. The sides of the user are the lower bits. */
const byDeviceOnly = 4;
const reasonBits = 3;
const allReasons = 7;

/** The value in `#rowOf` for an entry that sets the same bits for all subjects of the user. */
const noRow = -1;

/** The subject of an evaluation that concerns all subjects of the user. */
const allSubjects = -1;

/**
 * The entries of a chain that apply to the subjects of one user, and the bits that each of them sets. Nearly all
 * entries set the same bits for every device of the user, so the bits are stored once. An entry has a row, with more
 * bits for each subject, only if its rule reads the device or its policy names devices.
 *
 * `start` finds the entries and plans the evaluations of their rules. `evaluate` performs them. It can be suspended
 * like work. It is not a generator, because generators for 250,000 subjects cost more than most of the rules.
 *
 * Everything about an entry of the user is stored by its index in `positions`, not by its position in the chain. These
 * short lists stay in the processor's L1 cache; lists as long as the chain would not.
 */
export class UserEntries {
  readonly #chain: PolicyChain;
  readonly #certainties: RuleCertainties;
  /** The groups of all users as numbers, and the positions of the entries for each group. */
  readonly #groupsOfUsers: NumberLists | undefined;
  readonly #byGroupNumber: NumberLists | undefined;
  /** Positions of the entries that apply to any subject, in ascending order. */
  readonly positions = new NumberList();
  #subjectCount = 0;
  /** The entries as they were found: the position, and the bits that show why the entry applies. */
  readonly #found = new NumberList();
  /** The models in which each entry applies to the user for any device. */
  readonly #sides = new NumberList();
  /** The bits that each entry sets for all subjects, on all sides. */
  readonly #bits = new NumberList();
  readonly #rowOf = new NumberList();
  /** Indexes of the entries with rules that read the user but not the device. */
  readonly #userRules = new NumberList();
  /** The index of the entry of each row. */
  readonly #rows = new NumberList();
  /** The bits of each row, one subject after the other. */
  readonly #rowBits = new NumberList();

  /** The principals of the planned evaluations, and the numbers by which results are cached. */
  readonly #principals: PrincipalState[] = [];
  #previousPrincipals = 0;
  /** Planned evaluations: the principal, the subject, the index of the entry, and the bits that it may set. */
  readonly #plannedPrincipals = new NumberList();
  readonly #plannedSubjects = new NumberList();
  readonly #plannedIndexes = new NumberList();
  readonly #plannedMasks = new NumberList();
  #evaluated = 0;
  /** The number of the principal whose result was read last for each condition, and that result. */
  readonly #resultKeys: IntColumn;
  readonly #results: ByteColumn;
  /** Units of cost that are not reported yet. */
  #spent = 0;

  constructor(chain: PolicyChain, certainties: RuleCertainties, groups: NumberedGroups | undefined) {
    this.#chain = chain;
    this.#groupsOfUsers = groups?.ofUsers;
    this.#byGroupNumber = groups && NumberLists.of(groups.ids.map((id) => chain.byGroup.get(id) ?? none));
    this.#certainties = certainties;
    this.#resultKeys = new IntColumn(chain.conditions.length);
    this.#results = new ByteColumn(chain.conditions.length);
  }

  /**
   * Replaces the entries by those of another user.
   *
   * @param subjects all subjects of the user, starting with the user without a device, or one site
   */
  start(subjects: readonly ComparedSubject[]): void {
    this.#clear(subjects.length);
    const before = subjects[0]?.before;
    const after = subjects[0]?.after;
    const isSame = after !== undefined && before?.key === after.key;
    if (isSame) this.#findForUser(after, bothSides);
    else {
      if (before !== undefined) this.#findForUser(before, beforeSide);
      if (after !== undefined) this.#findForUser(after, afterSide);
    }
    const { forAnyDevice, byDevice } = this.#chain;
    const areDevicesNamed = forAnyDevice.length > 0 || byDevice.size > 0;
    if (areDevicesNamed) this.#findForDevices(subjects);
    this.#found.sort();
    this.#addFound();
    if (this.#userRules.length > 0) {
      if (isSame) this.#planUserRules(after, bothSides);
      else {
        if (before !== undefined) this.#planUserRules(before, beforeSide);
        if (after !== undefined) this.#planUserRules(after, afterSide);
      }
    }
    if (this.#rows.length > 0) this.#planRows(subjects);
    this.#spent += this.positions.length * policyCost;
  }

  /**
   * Evaluates planned rules until none is left or a time slice is spent.
   *
   * @returns whether none is left; otherwise, call again
   */
  evaluate(): boolean {
    const planned = this.#plannedIndexes;
    while (this.#spent < yieldAfter) {
      const next = this.#evaluated;
      if (next === planned.length) return true;
      this.#evaluated += 1;
      const index = planned.get(next);
      const subject = this.#plannedSubjects.get(next);
      const bits = this.#bitsOf(index, this.#plannedPrincipals.get(next)) & this.#plannedMasks.get(next);
      if (subject === allSubjects) this.#bits.set(index, this.#bits.get(index) | bits);
      else {
        const place = this.#rowOf.get(index) * this.#subjectCount + subject;
        this.#rowBits.set(place, this.#rowBits.get(place) | bits);
      }
    }
    return false;
  }

  /** The units of cost since the last call. */
  takeSpent(): number {
    const spent = this.#spent;
    this.#spent = 0;
    return spent;
  }

  /**
   * Whether an entry can set different bits for different subjects.
   *
   * @param index the index of the entry in `positions`
   */
  hasRow(index: number): boolean {
    return this.#rowOf.get(index) !== noRow;
  }

  /**
   * The bits that an entry sets for a subject, on all sides.
   *
   * @param index the index of the entry in `positions`
   * @param subject the index of the subject
   */
  bitsFor(index: number, subject: number): number {
    const row = this.#rowOf.get(index);
    const bits = this.#bits.get(index);
    return row === noRow ? bits : bits | this.#rowBits.get(row * this.#subjectCount + subject);
  }

  /** Whether all entries for every destination set the same bits for two subjects. */
  haveSameBase(one: number, other: number): boolean {
    const count = this.#subjectCount;
    for (let row = 0; row < this.#rows.length; row += 1) {
      if (this.#chain.everywhere.get(this.positions.get(this.#rows.get(row))) === 0) continue;
      if (this.#rowBits.get(row * count + one) !== this.#rowBits.get(row * count + other)) return false;
    }
    return true;
  }

  #clear(subjectCount: number): void {
    this.#subjectCount = subjectCount;
    this.positions.clear();
    this.#found.clear();
    this.#sides.clear();
    this.#bits.clear();
    this.#rowOf.clear();
    this.#userRules.clear();
    this.#rows.clear();
    this.#rowBits.clear();
    this.#previousPrincipals += this.#principals.length;
    this.#principals.length = 0;
    this.#plannedPrincipals.clear();
    this.#plannedSubjects.clear();
    this.#plannedIndexes.clear();
    this.#plannedMasks.clear();
    this.#evaluated = 0;
  }

  /** Finds the entries that apply to a user for any device, or to a site. */
  #findForUser({ user, groupIds, userNumber, model }: PrincipalState, sides: Sides): void {
    const { forAnyone, forAnyGroup, byUser, byGroup } = this.#chain;
    this.#find(forAnyone, sides);
    if (user === undefined) return;
    this.#find(byUser.get(user.id) ?? none, sides);
    if (userNumber === undefined) for (const id of groupIds) this.#find(byGroup.get(id) ?? none, sides);
    else this.#findForGroupsOf(userNumber, sides);
    if (forAnyGroup.length > 0 && groupIds.some((id) => model.groups.get(id) !== undefined)) {
      this.#find(forAnyGroup, sides);
    }
  }

  /** Finds the entries that apply to the groups of a numbered user. */
  #findForGroupsOf(userNumber: number, reason: number): void {
    const groups = this.#groupsOfUsers;
    const positions = this.#byGroupNumber;
    if (groups === undefined || positions === undefined) throw new RangeError(`User ${userNumber} has no groups.`);
    const found = this.#found;
    const endOfGroups = groups.end(userNumber);
    for (let place = groups.start(userNumber); place < endOfGroups; place += 1) {
      const group = groups.get(place);
      const end = positions.end(group);
      for (let at = positions.start(group); at < end; at += 1) found.push((positions.get(at) << reasonBits) | reason);
    }
  }

  /** Finds the entries that apply to a device, regardless of its user. */
  #findForDevices(subjects: readonly ComparedSubject[]): void {
    const { forAnyDevice, byDevice } = this.#chain;
    for (const { before, after } of subjects) {
      for (const principal of before === after ? [after] : [before, after]) {
        if (principal?.device === undefined) continue;
        this.#find(forAnyDevice, byDeviceOnly);
        this.#find(byDevice.get(principal.device.id) ?? none, byDeviceOnly);
      }
    }
  }

  #find(positions: readonly number[], reason: number): void {
    const found = this.#found;
    for (const position of positions) found.push((position << reasonBits) | reason);
  }

  /** Adds each entry that was found once. */
  #addFound(): void {
    const found = this.#found;
    for (let next = 0; next < found.length; ) {
      const first = found.get(next);
      const position = first >> reasonBits;
      let reason = first & allReasons;
      for (next += 1; next < found.length && found.get(next) >> reasonBits === position; next += 1) {
        reason |= found.get(next) & allReasons;
      }
      this.#add(position, reason & bothSides, (reason & byDeviceOnly) !== 0);
    }
  }

  #add(position: number, sides: number, isForDevices: boolean): void {
    const { ruleScopes, certainBits } = this.#chain;
    const scope = ruleScopes.get(position);
    const index = this.positions.length;
    this.positions.push(position);
    this.#sides.push(sides);
    this.#bits.push(scope === ruleScope.none ? certainBits.get(position) & maskOf(sides) : 0);
    if (scope === ruleScope.user && sides !== 0) this.#userRules.push(index);
    if (!isForDevices && scope !== ruleScope.device) {
      this.#rowOf.push(noRow);
      return;
    }
    this.#rowOf.push(this.#rows.length);
    this.#rows.push(index);
    for (let subject = 0; subject < this.#subjectCount; subject += 1) this.#rowBits.push(0);
  }

  #planUserRules(principal: PrincipalState, sides: Sides): void {
    this.#principals.push(principal);
    for (let next = 0; next < this.#userRules.length; next += 1) {
      const index = this.#userRules.get(next);
      if ((this.#sides.get(index) & sides) !== 0) this.#plan(index, allSubjects, maskOf(sides));
    }
  }

  #planRows(subjects: readonly ComparedSubject[]): void {
    for (let index = 0; index < this.#subjectCount; index += 1) {
      const before = subjects[index]?.before;
      const after = subjects[index]?.after;
      if (after !== undefined && before === after) this.#planRowsFor(index, after, bothSides);
      else {
        if (before !== undefined) this.#planRowsFor(index, before, beforeSide);
        if (after !== undefined) this.#planRowsFor(index, after, afterSide);
      }
    }
  }

  #planRowsFor(subject: number, principal: PrincipalState, sides: Sides): void {
    const { forAnyDevice, byDevice, ruleScopes } = this.#chain;
    this.#principals.push(principal);
    for (let row = 0; row < this.#rows.length; row += 1) {
      const index = this.#rows.get(row);
      if (ruleScopes.get(this.positions.get(index)) !== ruleScope.device) continue;
      const mask = maskOf(this.#sides.get(index) & sides);
      if (mask !== 0) this.#plan(index, subject, mask);
    }
    if (principal.device === undefined) return;
    for (const positions of [forAnyDevice, byDevice.get(principal.device.id) ?? none]) {
      for (const position of positions) this.#plan(this.positions.indexOfSorted(position), subject, maskOf(sides));
    }
  }

  /** Plans to add the bits that an entry sets for the last principal. */
  #plan(index: number, subject: number, mask: number): void {
    this.#plannedPrincipals.push(this.#principals.length - 1);
    this.#plannedSubjects.push(subject);
    this.#plannedIndexes.push(index);
    this.#plannedMasks.push(mask);
    this.#spent += policyCost;
  }

  /** The bits that an entry sets for a principal to whom the entry applies, on all sides of the entry. */
  #bitsOf(entry: number, index: number): number {
    const { certainBits, possibleBits, ruleScopes, conditionOf } = this.#chain;
    const position = this.positions.get(entry);
    if (ruleScopes.get(position) === ruleScope.none) return certainBits.get(position);
    const condition = conditionOf.get(position);
    const key = this.#previousPrincipals + index + 1;
    if (this.#resultKeys.get(condition) !== key) {
      this.#results.set(condition, this.#resultOf(condition, index));
      this.#resultKeys.set(condition, key);
    }
    const result = this.#results.get(condition);
    return result === no ? 0 : result === yes ? certainBits.get(position) : possibleBits.get(position);
  }

  #resultOf(condition: number, index: number): number {
    const principal = this.#principals[index];
    if (principal === undefined) throw new RangeError(`Principal ${index} does not exist.`);
    const { rule, resource } = conditionAt(this.#chain, condition);
    const certainty = this.#certainties.of(rule, principal.model, principal, resource);
    this.#spent += this.#certainties.takeSpent();
    return certainty === "no" ? no : certainty === "yes" ? yes : perhaps;
  }
}

/** Results of conditions, in a column. */
const no = 0;
const yes = 1;
const perhaps = 2;

const none: readonly number[] = [];
