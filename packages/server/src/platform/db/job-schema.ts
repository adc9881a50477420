/** Installs the job queue's own tables as the owner, and grants the application only access to their rows. */

import type pg from "pg";
import PgBoss from "pg-boss";

/** The schema of the queue's tables. It is separate, because the library creates and changes them. */
export const jobSchema = "gatehouse_jobs";

/** All queues. A new one is created at the next start. */
export const jobQueues = ["webhook-deliveries"] as const;
export type JobQueueName = (typeof jobQueues)[number];

/**
 * Migrates the queue's schema to the version that the library needs. The caller must hold the lock of the migrations.
 *
 * @param application the role for requests
 * @returns the problem in words; undefined if the schema is ready
 */
export async function installJobSchema(client: pg.Client, application: string): Promise<string | undefined> {
  const boss = new PgBoss({
    schema: jobSchema,
    db: { executeSql: async (text, values) => client.query(text, values) },
    migrate: true,
    supervise: false,
    schedule: false,
  });
  const { rows } = await client.query<{ installed: boolean; may: boolean; database: string }>(
    `SELECT to_regclass('${jobSchema}.version') IS NOT NULL AS installed, current_database() AS database,
            has_database_privilege(current_database(), 'CREATE') AS may`,
  );
  const state = rows[0];
  if (state?.installed !== true && state?.may !== true) {
    return `The database user may not create the schema ${jobSchema}. As a superuser, run: GRANT CREATE ON DATABASE "${state?.database}" TO <the user in GATEHOUSE_DATABASE_URL>`;
  }
  await boss.start();
  const expected = Number(/version\(version\) VALUES \('(\d+)'\)/.exec(PgBoss.getConstructionPlans(jobSchema))?.[1]);
  const installed = Number(await boss.schemaVersion());
  if (installed > expected) {
    return `The job queue's schema is version ${installed}, and this version of Gatehouse knows ${expected}. Start the newer version that made it.`;
  }
  for (const name of jobQueues) await boss.createQueue(name, { name, policy: "standard", retryLimit: 0 });
  await client.query(`
    GRANT USAGE ON SCHEMA ${jobSchema} TO ${application};
    GRANT SELECT ON ${jobSchema}.version, ${jobSchema}.queue TO ${application};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ${jobSchema}.job TO ${application};
    GRANT SELECT, INSERT, DELETE ON ${jobSchema}.archive TO ${application};
    REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ${jobSchema} FROM PUBLIC;
  `);
  return undefined;
}
