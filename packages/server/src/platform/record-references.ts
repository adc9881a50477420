/** References between records, as commands see them. `features/references` implements the interface. */
import type { Granted } from "./authorization/granted.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";

/** Kinds of records that other records refer to. */
export type ReferencedNoun = "admission-rule" | "device" | "gateway" | "group" | "protocol" | "resource" | "user";

/** A record as errors and audit entries name it. */
export interface NamedRecord {
  readonly id: string;
  /** The email address of a user. */
  readonly name: string;
}

/** Records that refer to a record and so block its deletion. */
export interface BlockingRecords {
  /** Starts a sentence: `Active policies`. */
  readonly title: string;
  /** The path of these records in the API: `/tenants/policies`. */
  readonly path: string;
  /** The first 50 by name; at least one. */
  readonly records: readonly NamedRecord[];
}

/** A record that a command is about to delete. The command holds its lock, so no reference can be added. */
export interface DeletedRecord<N extends ReferencedNoun> extends NamedRecord {
  readonly noun: N;
}

export interface RecordReferences {
  /** Records that block the deletion of a record, or undefined. */
  blocking(tx: TenantTx, noun: ReferencedNoun, id: string): Promise<BlockingRecords | undefined>;

  /**
   * Removes all references to a record, and records the change of each record that held one.
   *
   * @throws AppError last_group
   */
  remove<N extends ReferencedNoun>(
    tx: CommandTx,
    granted: Granted<`${N}s:write`>,
    record: DeletedRecord<N>,
    at: Date,
  ): Promise<void>;
}
