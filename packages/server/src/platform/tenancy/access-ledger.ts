/** The effect of commands on access. The platform knows only this interface; features/access implements it. */
import type { TargetType } from "@gatehouse/contract/event-types";
import type { EffectSummary } from "@gatehouse/contract/records/effect";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Work } from "@gatehouse/policy/work";
import type { Change } from "../change.ts";
import type { TenantModel } from "./tenant-models.ts";
import type { TenantTx } from "./tenant-tx.ts";

export interface AccessLedger {
  /**
   * Prepares for a command that may change access. Call it outside of a transaction, because it may need a connection.
   *
   * @throws AppError database_unavailable
   */
  open(tenantId: string): Promise<AccessImpact>;
}

/** Evaluates the effect of a transaction, starting from a recent model of the tenant. */
export interface AccessImpact {
  /**
   * Evaluates the effect of a command on access, in its transaction and after its work. All other commands of the
   * tenant wait from here on until the transaction ends. A retried transaction calls this method again.
   *
   * @param changes at least one that concerns access
   * @param overrideReason the caller's reason for breaking access tests, or undefined
   * @throws AppError if the command is refused
   */
  evaluate(tx: TenantTx, changes: readonly Change[], overrideReason: string | undefined): Promise<EvaluatedImpact>;
  /**
   * Starts the queries of `evaluate` at once, for one or more commands that create records and change no others. The
   * transaction must write nothing afterwards. It must not end before the promise is settled.
   *
   * @param commands the changes of each command, in order. Only their types and ids matter.
   * @returns for each command the function that evaluates, and that refuses the command as `evaluate` does. They must
   *   be called in the order of the commands, each after the previous one has returned.
   */
  begin(tx: TenantTx, commands: readonly (readonly Change[])[]): Promise<readonly EvaluateImpact[]>;
  /**
   * Reads the state before and after the changes of a transaction so far, like `evaluate`.
   *
   * @param changes the changes that the transaction recorded; without any, both states are equal
   * @returns computes the states in slices; it needs no transaction
   */
  preview(tx: TenantTx, changes: readonly Change[]): Promise<Work<AccessChange>>;
}

/** @throws AppError if the command is refused */
export type EvaluateImpact = (overrideReason: string | undefined) => Promise<EvaluatedImpact>;

/** The models before and after a change. */
export interface AccessChange {
  readonly before: TenantModel;
  readonly after: TenantModel;
  /** All changes from `before` to `after`. */
  readonly changes: readonly FactChange[];
}

/** The effect of a command on access, which is stored with its audit entries. */
export interface AccessEffect {
  /** The generation that the command makes. */
  readonly generation: number;
  /** When the generation was locked. */
  readonly at: Date;
  readonly summary: EffectSummary;
  /** The facts that the command left, as a JSON array, except for earlier ones. */
  readonly versions: string;
  /** Whether versions of this generation were stored before. */
  readonly hasEarlierVersions: boolean;
  /** Whether the effect is computed after the commit. Until then, the summary has only the broken tests. */
  readonly isLate: boolean;
}

/** The evaluated effect of a command on access. */
export interface EvaluatedImpact {
  readonly effect: AccessEffect;
  /** Must be called after the command was committed. */
  committed(): void;
}

/**
 * Types of audit targets that decisions depend on. A protocol counts only if its content changes. The ends of device
 * sessions depend on the settings of the tenant.
 */
const accessTypes: ReadonlySet<TargetType> = new Set([
  "address",
  "admission-rule",
  "device",
  "gateway",
  "group",
  "policy",
  "resource",
  "tenant",
  "tenant-settings",
  "user",
]);

/** Whether any of the changes may affect access. */
export function concernsAccess(changes: readonly Pick<Change, "type" | "before" | "after">[]): boolean {
  return changes.some(
    ({ type, before, after }) =>
      accessTypes.has(type) || (type === "protocol" && before !== undefined && after !== undefined),
  );
}
