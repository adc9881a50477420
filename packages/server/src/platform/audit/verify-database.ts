import type { Database } from "../db/database.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { readRecord } from "./read-record.ts";
import { readHead, readStub } from "./record.queries.ts";
import type { SignatureCheck } from "./signatures.ts";
import { verifyHistory } from "./verify-history.ts";
import { RecordVerifier, type RecordVerifierOptions, type Report } from "./verify-record.ts";

export interface VerifyTenantOptions {
  readonly tenantId: string;
  readonly signatures: SignatureCheck | undefined;
  readonly expectHead?: string | undefined;
  /** Places that must be in the chain. */
  readonly expectHeads?: RecordVerifierOptions["expectHeads"];
  /** A valid signature must cover this position. */
  readonly expectSigned?: number | undefined;
  /** Entries from before this time must be signed, in ISO 8601. */
  readonly unsignedBefore?: string | undefined;
  /** Finds records that differ from the state that their latest entries left. */
  readonly compareLive?: ((tx: TenantTx) => Promise<readonly string[]>) | undefined;
}

/**
 * Verifies a tenant's record in the database, in one snapshot and in bounded memory.
 *
 * @returns undefined if the tenant does not exist
 */
export function verifyTenant(database: Database, options: VerifyTenantOptions): Promise<Report | undefined> {
  const { tenantId } = options;
  return database.readThrough({ kind: "tenant", tenantId }, async ({ query }) => {
    const tx = { tenantId, query };
    const head = await readHead(tx);
    if (head === undefined) return undefined;
    const verifier = new RecordVerifier({ ...options, complete: true });
    const stub = await readStub(tx);
    if (stub !== undefined) verifier.take({ type: "stub", ...stub });
    const after = { position: 0, generation: Number.MIN_SAFE_INTEGER };
    for await (const line of readRecord((work) => work(tx), { after, filters: [], oneSnapshot: true })) {
      verifier.take(line);
    }
    for await (const finding of verifyHistory(tx, verifier.baseline)) verifier.report(finding);
    for (const message of (await options.compareLive?.(tx)) ?? []) verifier.report({ problem: "live", message });
    return verifier.finish(head);
  });
}
