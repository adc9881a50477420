/** Checks whether the configured master keys decrypt every stored secret. */

import type { Connection } from "../platform/db/database.ts";
import { Database } from "../platform/db/database.ts";
import type { MasterKeys } from "../platform/secrets/master-key.ts";
import { countSecrets } from "../platform/secrets/reseal.ts";
import { type Finding, ok, problem, reasonOf, skipped, warning } from "./finding.ts";

/** @param connection to a database with the schema of this version */
export async function checkSecrets(connection: Connection, masterKeys: MasterKeys): Promise<Finding> {
  const database = new Database({ connection, poolSize: 1 });
  try {
    const { current, second, unreadable, unreadableTables, behind } = await countSecrets({ database, masterKeys });
    if (unreadable > 0) {
      const tables = Object.entries(unreadableTables).map(([table, count]) => `${table}: ${count}`);
      return problem(
        "secrets",
        `Stored secrets need a master key that is not configured: ${unreadable} (${tables.join(", ")}).`,
        "Set that key as GATEHOUSE_SECOND_MASTER_KEY on all servers, restart them, and run: gatehouse rotate master-key",
      );
    }
    if (second === 0) return ok("secrets", `The master key decrypts all ${current} stored secrets.`);
    const remedy = "Complete the rotation before you remove the second key; docs/keys.md describes it.";
    const tenants = behind.map(({ tenantId, secrets }) => `tenant ${tenantId}: ${secrets}`);
    const named = tenants.length === 0 ? "" : ` (${tenants.join(", ")})`;
    return warning("secrets", `Stored secrets need the second master key: ${second}${named}.`, remedy);
  } catch (error) {
    return skipped("secrets", `The stored secrets could not be read (${reasonOf(error)}).`);
  } finally {
    await database.close();
  }
}
