/** The input and the result of planning a revert. */
import type { Change } from "@gatehouse/contract/records/change-set";
import type { Event } from "@gatehouse/contract/records/event";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { Irrevertible, UndoneEvent } from "@gatehouse/contract/records/revert";
import type { ReferencedNoun } from "../../../platform/record-references.ts";
import type { State } from "./recorded-state.ts";

/** The event to revert with the entries that belong to it. */
export interface RevertedEvent {
  readonly event: Event;
  /** The entries of the event's generation that concern it, in the order of their positions. */
  readonly generation: readonly Event[];
  /** Later entries about the records that the revert may change, in the order of their positions. */
  readonly later: readonly Event[];
  /** False if there are more later entries. */
  readonly laterIsComplete: boolean;
}

/** The part of the tenant's current state that a plan needs; see `neededState`. */
export interface NeededState {
  /** Records to read whole. */
  readonly records: readonly { readonly type: string; readonly id: string }[];
  /** Records whose content does not matter, only their existence. */
  readonly existing: readonly { readonly noun: ReferencedNoun; readonly id: string }[];
  /** The type of policies whose order is needed. */
  readonly orderOf: PolicyType | undefined;
  /** A deleted record whose access tests are needed. */
  readonly testsOf: { readonly type: string; readonly id: string } | undefined;
  /** Records whose later entries are needed. */
  readonly laterOn: readonly string[];
}

/** The tenant's current state, as far as the plan needs it. */
export interface CurrentState {
  /** The record as the API shows it; undefined if it does not exist. */
  record(type: string, id: string): State | undefined;
  exists(noun: ReferencedNoun, id: string): boolean;
  /** The policies of the needed type in their order, without the default policy. */
  readonly policyOrder: readonly { readonly id: string; readonly order: number }[];
  /** The access tests about the deleted record. */
  readonly accessTests: readonly State[];
}

/** A deleted record that the revert creates again. */
export interface RecreatedRecord {
  readonly type: string;
  /** The name of the record in `changes`. */
  readonly as: string;
  readonly formerId: string;
}

export interface RevertPlan {
  readonly changes: readonly Change[];
  readonly cannot: readonly Irrevertible[];
  readonly undoes: readonly UndoneEvent[];
  readonly recreated: RecreatedRecord | undefined;
  /** The number of references that are not restored, because there are too many. */
  readonly unplanned?: number;
}

/** A plan that changes nothing. */
export function impossible(...cannot: readonly Irrevertible[]): RevertPlan {
  return { changes: [], cannot, undoes: [], recreated: undefined };
}
