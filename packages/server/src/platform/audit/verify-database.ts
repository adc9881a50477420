import type { Database } from "../db/database.ts";
import { readRecord } from "./read-record.ts";
import { readHead, readStub } from "./record.queries.ts";
import type { SignatureCheck } from "./signatures.ts";
import { RecordVerifier, type Report } from "./verify-record.ts";

export interface VerifyTenantOptions {
  readonly tenantId: string;
  readonly signatures: SignatureCheck | undefined;
  readonly expectHead?: string | undefined;
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
    return verifier.finish(head);
  });
}
