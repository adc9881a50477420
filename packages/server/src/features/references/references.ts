/**
 * The registry of references between records. Features that store references register a holder for each kind of record
 * that they refer to. A feature whose records are referred to asks the registry, so it does not depend on the holders.
 */
import type { ErrorCode } from "@gatehouse/contract/errors";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type {
  BlockingRecords,
  DeletedRecord,
  NamedRecord,
  RecordReferences,
  ReferencedNoun,
} from "../../platform/record-references.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** References that one feature stores to one kind of record. */
export interface ReferencesTo<N extends ReferencedNoun> {
  /** Present if a reference can block the deletion of the record. */
  blocking?(tx: TenantTx, id: string): Promise<BlockingRecords | undefined>;
  /** Present if references are removed when the record is deleted. */
  remove?(tx: CommandTx, granted: Granted<`${N}s:write`>, record: NamedRecord, at: Date): Promise<void>;
}

/** All references that one feature stores. */
export type ReferenceHolder = { readonly [N in ReferencedNoun]?: ReferencesTo<N> };

export class References implements RecordReferences {
  readonly #holders: readonly ReferenceHolder[];

  /** @param holders asked, and changed, in this order */
  constructor(holders: readonly ReferenceHolder[]) {
    this.#holders = holders;
  }

  async blocking(tx: TenantTx, noun: ReferencedNoun, id: string): Promise<BlockingRecords | undefined> {
    for (const holder of this.#holders) {
      const found = await holder[noun]?.blocking?.(tx, id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async remove<N extends ReferencedNoun>(
    tx: CommandTx,
    granted: Granted<`${N}s:write`>,
    { noun, id, name }: DeletedRecord<N>,
    at: Date,
  ): Promise<void> {
    for (const holder of this.#holders) {
      const references: ReferencesTo<N> | undefined = holder[noun];
      await references?.remove?.(tx, granted, { id, name }, at);
    }
  }
}

/** @throws AppError `code`, listing the records that refer to the record */
export async function requireUnused(
  references: RecordReferences,
  tx: TenantTx,
  { noun, id, name }: DeletedRecord<ReferencedNoun>,
  code: ErrorCode,
): Promise<void> {
  const blocking = await references.blocking(tx, noun, id);
  if (blocking === undefined) return;
  const { title, path, records } = blocking;
  throw new AppError(code, {
    detail: `${title} use the ${noun.replace("-", " ")} ${name}: ${records.map((record) => record.name).join(", ")}.`,
    errors: records.map((record) => ({ pointer: `${path}/${record.id}`, message: record.name })),
  });
}
