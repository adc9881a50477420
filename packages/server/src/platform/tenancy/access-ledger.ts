/** What commands do to access, as far as the platform has to know: it is worked out and stored in their transactions. */
import type { TargetType } from "@gatehouse/contract/event-types";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Change } from "../change.ts";
import type { TenantModel } from "./tenant-models.ts";
import type { TenantTx } from "./tenant-tx.ts";

export interface AccessLedger {
  /**
   * Makes ready for a command that may change access. Not inside a transaction: it may need a connection.
   *
   * @throws AppError database_unavailable
   */
  open(tenantId: string): Promise<LedgerPage>;
}

/** What was true of a tenant's access some time before a command. */
export interface LedgerPage {
  /**
   * Works out what a command does to access. In its transaction, when its work is done: all other commands of the tenant
   * wait from here on until it ends. May be called again where the transaction is tried again.
   *
   * @param changes at least one that concerns access
   * @param overrideReason why access tests may be broken; undefined where they may not
   * @throws AppError where the command may not go through
   */
  weigh(tx: TenantTx, changes: readonly Change[], overrideReason: string | undefined): Promise<WeighedEffect>;
  /**
   * Reads, as `weigh` does, what access is made from before and after what a transaction did so far.
   *
   * @param changes what the transaction recorded; none: before and after are the same
   * @returns what works it out, which may take a while, and needs no transaction any more
   */
  look(tx: TenantTx, changes: readonly Change[]): Promise<() => AccessChange>;
}

/** What decisions are made from, before and after something. */
export interface AccessChange {
  readonly before: TenantModel;
  readonly after: TenantModel;
  /** All that makes `after` of `before`. */
  readonly changes: readonly FactChange[];
}

/** What a command does to access. */
export interface WeighedEffect {
  /** Stores it; asks for its queries at once. They come before the command's audit entries. */
  write(tx: TenantTx): Promise<unknown>;
  /** To be called once the command was committed. */
  committed(): void;
}

/** What decisions are made from, as audit entries call it. Protocols come with it where their content changes. */
const accessTypes: ReadonlySet<TargetType> = new Set([
  "address",
  "admission-rule",
  "device",
  "gateway",
  "group",
  "policy",
  "resource",
  "tenant",
  "user",
]);

/** Whether changes may be changes of who may reach what. */
export function concernsAccess(changes: readonly Pick<Change, "type" | "before" | "after">[]): boolean {
  return changes.some(
    ({ type, before, after }) =>
      accessTypes.has(type) || (type === "protocol" && before !== undefined && after !== undefined),
  );
}
