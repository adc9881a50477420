/** Edits single columns with the rights of a superuser, and verifies the tenant as `gatehouse audit verify --live`. */
import { compareLiveRecords } from "../compare-live-records.ts";
import type { SignatureCheck } from "../platform/audit/signatures.ts";
import { verifyTenant } from "../platform/audit/verify-database.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { unprepared } from "../platform/db/statement.ts";
import { columnsOfTenants, dropChecks, editedValue, type TenantColumn } from "./edited-columns.queries.ts";
import type { TestServer } from "./test-server.ts";

/** SQL for the place of the tenant's newest row. */
const newestRow = (table: string, tenant: string) =>
  `(SELECT ctid FROM ${table} WHERE "${tenant}" = $1 ORDER BY ctid DESC LIMIT 1)`;

/** Tables whose rows the chain of hashes covers. */
const sealed = /^(audit_|access_(effects|history|late_effects)|tenant_generations)/;

export class EditedColumns {
  readonly #tx: Transaction;
  readonly #tenantId: string;
  readonly #signatures: SignatureCheck;

  private constructor(tx: Transaction, tenantId: string, signatures: SignatureCheck) {
    this.#tx = tx;
    this.#tenantId = tenantId;
    this.#signatures = signatures;
  }

  /** Runs the work in one transaction, which is rolled back. */
  static async with(
    { database, runner }: TestServer,
    tenantId: string,
    work: (edits: EditedColumns) => Promise<void>,
  ): Promise<void> {
    const done = new Error("rolled back");
    await database
      .transaction({ kind: "tenant", tenantId }, async (tx) => {
        await tx.query(unprepared("RESET ROLE"));
        await tx.query(dropChecks);
        // Neither foreign keys nor triggers must interfere.
        await tx.query(unprepared("SET LOCAL session_replication_role = replica"));
        await work(new EditedColumns(tx, tenantId, runner.audit.keys.signatures));
        throw done;
      })
      .catch((error: unknown) => {
        if (error !== done) throw error;
      });
  }

  /** The columns of all tables with rows of tenants. */
  columns(): Promise<TenantColumn[]> {
    return this.#tx.query(columnsOfTenants);
  }

  /**
   * Edits columns of a table's newest row.
   *
   * @returns the findings; undefined if the tenant has no row
   */
  async findings(columns: readonly TenantColumn[]): Promise<readonly string[] | undefined> {
    const [first] = columns;
    const { query } = this.#tx;
    if (first === undefined) return compareLiveRecords({ tenantId: this.#tenantId, query });
    const { table, tenant } = first;
    const changes = columns.map((each) => `"${each.column}" = ${editedValue(each)}`).join(", ");
    return this.#after(table, `UPDATE ${table} AS item SET ${changes} WHERE ctid = ${newestRow(table, tenant)}`);
  }

  /** Deletes the newest row of a table, or all rows. Returns the same. */
  afterDeletion({ table, tenant }: TenantColumn, rows: "newest" | "all"): Promise<readonly string[] | undefined> {
    const condition = rows === "all" ? `"${tenant}" = $1` : `ctid = ${newestRow(table, tenant)}`;
    return this.#after(table, `DELETE FROM ${table} AS item WHERE ${condition}`);
  }

  /** Copies the newest row of a table, with another id. Returns the same. */
  afterInsertion(columns: readonly TenantColumn[]): Promise<readonly string[] | undefined> {
    const [{ table, tenant } = { table: "", tenant: "" }] = columns;
    const names = columns.map(({ column }) => `"${column}"`);
    const values = names.map((name) => (name === '"id"' ? "gen_random_uuid()" : name));
    const copy = `SELECT ${values.join(", ")} FROM ${table} WHERE ctid = ${newestRow(table, tenant)}`;
    return this.#after(table, `INSERT INTO ${table} AS item (${names.join(", ")}) ${copy}`);
  }

  /** @returns the findings after a statement; undefined if it changed no row */
  async #after(table: string, edit: string): Promise<readonly string[] | undefined> {
    const { query } = this.#tx;
    await query(unprepared("SAVEPOINT edit"));
    try {
      const edited = await query(
        unprepared<{ done: boolean }, [tenantId: string]>(`${edit} RETURNING true AS done`),
        this.#tenantId,
      );
      if (edited.length === 0) return undefined;
      const tx = { tenantId: this.#tenantId, query };
      if (!sealed.test(table)) return await compareLiveRecords(tx);
      const database = { readThrough: (_scope: unknown, read: (within: Transaction) => unknown) => read(this.#tx) };
      const options = { tenantId: this.#tenantId, signatures: this.#signatures, compareLive: compareLiveRecords };
      // Only `readThrough` is called.
      const report = await verifyTenant(database as unknown as Database, options);
      return report === undefined ? ["The tenant has no record."] : report.findings.map(({ message }) => message);
    } finally {
      await query(unprepared("ROLLBACK TO SAVEPOINT edit"));
    }
  }
}
