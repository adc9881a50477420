import { policyCost, yieldAfter } from "../work.ts";
import { ByteColumn, IntColumn, NumberList } from "./columns.ts";
import type { ComparedSubject, PrincipalState } from "./compared-subject.ts";
import { afterSide, beforeSide, bothSides, maskOf, type Sides } from "./level-states.ts";
import { conditionAt, type PolicyChain, ruleScope } from "./policy-chain.ts";
import type { RuleCertainties } from "./rule-certainties.ts";

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
 * The columns are as long as the chain and are never cleared: a value counts only if its stamp is the number of the
 * current user. Starting the next user therefore takes constant time.
 */
export class UserEntries {
  readonly #chain: PolicyChain;
  readonly #certainties: RuleCertainties;
  /** Positions of the entries that apply to any subject, in ascending order. */
  readonly positions = new NumberList();
  #subjectCount = 0;
  #user = 0;
  readonly #stamps: IntColumn;
  /** The bits that each entry sets for all subjects, on all sides. */
  readonly #bits: ByteColumn;
  readonly #rowOf: IntColumn;
  /** The sides on which an entry with a rule applies to the user. */
  readonly #sides: ByteColumn;
  /** Positions of the entries with rules that read the user but not the device. */
  readonly #userRules = new NumberList();
  /** The position of each row. */
  readonly #rows = new NumberList();
  /** The bits of each row, one subject after the other. */
  readonly #rowBits = new NumberList();

  /** The principals of the planned evaluations, and the numbers by which results are cached. */
  readonly #principals: PrincipalState[] = [];
  #previousPrincipals = 0;
  /** Planned evaluations: the principal, the subject, the position of the entry, and the bits that it may set. */
  readonly #plannedPrincipals = new NumberList();
  readonly #plannedSubjects = new NumberList();
  readonly #plannedPositions = new NumberList();
  readonly #plannedMasks = new NumberList();
  #evaluated = 0;
  /** The number of the principal whose result was read last for each condition, and that result. */
  readonly #resultKeys: IntColumn;
  readonly #results: ByteColumn;
  /** Units of cost that are not reported yet. */
  #spent = 0;

  constructor(chain: PolicyChain, certainties: RuleCertainties) {
    const { length } = chain.entries;
    this.#chain = chain;
    this.#certainties = certainties;
    this.#stamps = new IntColumn(length);
    this.#bits = new ByteColumn(length);
    this.#rowOf = new IntColumn(length);
    this.#sides = new ByteColumn(length);
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
    if (after !== undefined && before?.key === after.key) this.#addUser(after, bothSides);
    else {
      if (before !== undefined) this.#addUser(before, beforeSide);
      if (after !== undefined) this.#addUser(after, afterSide);
    }
    const { forAnyDevice, byDevice } = this.#chain;
    if (this.#rows.length > 0 || forAnyDevice.length > 0 || byDevice.size > 0) this.#planRows(subjects);
    this.positions.sort();
    this.#spent += this.positions.length * policyCost;
  }

  /**
   * Evaluates planned rules until none is left or a time slice is spent.
   *
   * @returns whether none is left; otherwise, call again
   */
  evaluate(): boolean {
    const planned = this.#plannedPositions;
    while (this.#spent < yieldAfter) {
      const index = this.#evaluated;
      if (index === planned.length) return true;
      this.#evaluated += 1;
      const position = planned.get(index);
      const subject = this.#plannedSubjects.get(index);
      const bits = this.#bitsOf(position, this.#plannedPrincipals.get(index)) & this.#plannedMasks.get(index);
      if (subject === allSubjects) this.#bits.set(position, this.#bits.get(position) | bits);
      else {
        const place = this.#rowOf.get(position) * this.#subjectCount + subject;
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

  /** Whether an entry can set different bits for different subjects. */
  hasRow(position: number): boolean {
    return this.#rowOf.get(position) !== noRow;
  }

  /**
   * The bits that an entry sets for a subject, on all sides.
   *
   * @param subject the index of the subject
   */
  bitsFor(position: number, subject: number): number {
    const row = this.#rowOf.get(position);
    const bits = this.#bits.get(position);
    return row === noRow ? bits : bits | this.#rowBits.get(row * this.#subjectCount + subject);
  }

  /** Whether all entries for every destination set the same bits for two subjects. */
  haveSameBase(one: number, other: number): boolean {
    const count = this.#subjectCount;
    for (let row = 0; row < this.#rows.length; row += 1) {
      if (this.#chain.everywhere.get(this.#rows.get(row)) === 0) continue;
      if (this.#rowBits.get(row * count + one) !== this.#rowBits.get(row * count + other)) return false;
    }
    return true;
  }

  #clear(subjectCount: number): void {
    this.#user += 1;
    this.#subjectCount = subjectCount;
    this.positions.clear();
    this.#userRules.clear();
    this.#rows.clear();
    this.#rowBits.clear();
    this.#previousPrincipals += this.#principals.length;
    this.#principals.length = 0;
    this.#plannedPrincipals.clear();
    this.#plannedSubjects.clear();
    this.#plannedPositions.clear();
    this.#plannedMasks.clear();
    this.#evaluated = 0;
  }

  /** Adds the entries that apply to a user for any device, or to a site. */
  #addUser(principal: PrincipalState, sides: Sides): void {
    const { user, groupIds, model } = principal;
    const { forAnyone, forAnyGroup, byUser, byGroup } = this.#chain;
    this.#addAll(forAnyone, sides);
    if (user !== undefined) {
      this.#addAll(byUser.get(user.id) ?? none, sides);
      for (const id of groupIds) this.#addAll(byGroup.get(id) ?? none, sides);
      if (forAnyGroup.length > 0 && groupIds.some((id) => model.groups.get(id) !== undefined)) {
        this.#addAll(forAnyGroup, sides);
      }
    }
    if (this.#userRules.length === 0) return;
    const mask = maskOf(sides);
    this.#principals.push(principal);
    for (let index = 0; index < this.#userRules.length; index += 1) {
      const position = this.#userRules.get(index);
      if ((this.#sides.get(position) & sides) !== 0) this.#plan(position, allSubjects, mask);
    }
  }

  #addAll(positions: readonly number[], sides: Sides): void {
    const { ruleScopes, certainBits } = this.#chain;
    const mask = maskOf(sides);
    for (const position of positions) {
      const isNew = this.#add(position);
      const scope = ruleScopes.get(position);
      if (scope === ruleScope.none) {
        this.#bits.set(position, this.#bits.get(position) | (certainBits.get(position) & mask));
        continue;
      }
      this.#sides.set(position, this.#sides.get(position) | sides);
      if (!isNew) continue;
      if (scope === ruleScope.user) this.#userRules.push(position);
      else this.#addRow(position);
    }
  }

  /** @returns whether the entry is new */
  #add(position: number): boolean {
    if (this.#stamps.get(position) === this.#user) return false;
    this.#stamps.set(position, this.#user);
    this.#bits.set(position, 0);
    this.#sides.set(position, 0);
    this.#rowOf.set(position, noRow);
    this.positions.push(position);
    return true;
  }

  #addRow(position: number): void {
    this.#rowOf.set(position, this.#rows.length);
    this.#rows.push(position);
    for (let subject = 0; subject < this.#subjectCount; subject += 1) this.#rowBits.push(0);
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
    const { forAnyDevice, byDevice } = this.#chain;
    this.#principals.push(principal);
    for (let row = 0; row < this.#rows.length; row += 1) {
      const position = this.#rows.get(row);
      const mask = maskOf(this.#sides.get(position) & sides);
      if (mask !== 0) this.#plan(position, subject, mask);
    }
    if (principal.device === undefined) return;
    for (const positions of [forAnyDevice, byDevice.get(principal.device.id) ?? none]) {
      for (const position of positions) {
        this.#add(position);
        if (!this.hasRow(position)) this.#addRow(position);
        this.#plan(position, subject, maskOf(sides));
      }
    }
  }

  /** Plans to add the bits that an entry sets for the last principal. */
  #plan(position: number, subject: number, mask: number): void {
    this.#plannedPrincipals.push(this.#principals.length - 1);
    this.#plannedSubjects.push(subject);
    this.#plannedPositions.push(position);
    this.#plannedMasks.push(mask);
    this.#spent += policyCost;
  }

  /** The bits that an entry sets for a principal to whom the entry applies, on all sides of the entry. */
  #bitsOf(position: number, index: number): number {
    const { certainBits, possibleBits, ruleScopes, conditionOf } = this.#chain;
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
