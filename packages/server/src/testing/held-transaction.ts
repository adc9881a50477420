import pg from "pg";
import type { Connection } from "../platform/db/database.ts";

/** A transaction that stays open until the test ends it. It stands for a slow command. */
export class HeldTransaction {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Begins a transaction of a superuser, and runs a statement in it. */
  static async begin(connection: Connection, text: string, ...values: readonly unknown[]): Promise<HeldTransaction> {
    const client = new pg.Client(connection);
    await client.connect();
    await client.query("BEGIN");
    await client.query(text, [...values]);
    return new HeldTransaction(client);
  }

  /** Begins a transaction that holds the lock of a tenant like a change set. */
  static ofTenant(connection: Connection, tenantId: string): Promise<HeldTransaction> {
    const text = "SELECT pg_advisory_xact_lock(hashtextextended('commands of tenant ' || $1::text, 0))";
    return HeldTransaction.begin(connection, text, tenantId);
  }

  /** Rolls back. */
  async end(): Promise<void> {
    await this.#client.query("ROLLBACK");
    await this.#client.end();
  }
}
