import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { type AppliedMigration, adopt, baselineVersion, obstacleToAdoption } from "./baseline.ts";
import { applicationRole, type Connection } from "./database.ts";
import { installJobSchema } from "./job-schema.ts";
import { withSingleConnection } from "./single-connection.ts";

/** The folder beside the sources. The build does not copy SQL, so the path must lead there from `dist` too. */
const folder = fileURLToPath(new URL("../../../src/migrations/", import.meta.url));

/** An arbitrary number that all replicas share, so that only one migrates at a time. */
const migrationLock = 7_226_410_773;

/** PostgreSQL 15 in the format of `server_version_num`. */
const oldestServer = 150_000;

export class MigrationError extends Error {
  override readonly name = "MigrationError";
}

interface Migration extends AppliedMigration {
  readonly text: string;
}

/** The migrations of this version of Gatehouse, in order. */
export function knownMigrations(): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}_.*\.sql$/.test(name))
    .sort()
    .map((name) => {
      const text = readFileSync(folder + name, "utf8");
      return {
        version: Number(name.slice(0, 4)),
        name,
        text,
        checksum: createHash("sha256").update(text).digest("hex"),
      };
    });
}

/** The number of the newest migration. */
export function newestMigration(): number {
  return Math.max(...knownMigrations().map(({ version }) => version));
}

/**
 * Migrates the database to this version's schema, each migration in its own transaction. Safe to call at every start,
 * and on several replicas at once. Numbers may have gaps.
 *
 * @returns the names of the migrations that were applied now
 * @throws MigrationError with a remedy if the database cannot be used, is newer than this program, or is older than the
 *   baseline
 */
export async function migrate(connection: Connection): Promise<readonly string[]> {
  return withSingleConnection(connection, "gatehouse migrate", async (client) => {
    await checkServer(client);
    await client.query("SELECT pg_advisory_lock($1)", [migrationLock]);
    await ensureRole(client);
    await client.query(
      "CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
    );
    const applied: string[] = [];
    for (const migration of await pending(client)) {
      await apply(client, migration);
      applied.push(migration.name);
    }
    await client.query(`GRANT SELECT ON schema_migrations TO ${applicationRole}`);
    const obstacle = await installJobSchema(client, applicationRole);
    if (obstacle !== undefined) throw new MigrationError(obstacle);
    return applied;
  });
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number; encoding: string; folds: boolean }>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
            lower(U&'\\00C9') = U&'\\00E9' AS folds`,
  );
  const server = rows[0];
  if (server === undefined || server.version < oldestServer) {
    throw new MigrationError(
      `Gatehouse needs PostgreSQL 15 or newer; this server is ${Math.floor((server?.version ?? 0) / 10_000)}.`,
    );
  }
  if (server.encoding !== "UTF8") {
    throw new MigrationError(`The database's encoding is ${server.encoding}. Create it with ENCODING 'UTF8'.`);
  }
  // Email addresses are unique and names sort case-insensitively. This applies to all letters, not only ASCII.
  if (!server.folds) {
    throw new MigrationError(
      "The database's locale does not know upper and lower case beyond ASCII. Create it with LOCALE 'C.UTF-8', or another UTF-8 locale, TEMPLATE template0.",
    );
  }
}

/** Creates the role for requests, or checks that an existing one is safe. */
async function ensureRole(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ unsafe: boolean }>(
    "SELECT rolsuper OR rolbypassrls AS unsafe FROM pg_roles WHERE rolname = $1",
    [applicationRole],
  );
  const role = rows[0];
  if (role?.unsafe === true) {
    throw new MigrationError(
      `The role ${applicationRole} can bypass row-level security. Run: ALTER ROLE ${applicationRole} NOSUPERUSER NOBYPASSRLS`,
    );
  }
  try {
    if (role === undefined) await client.query(`CREATE ROLE ${applicationRole} NOLOGIN`);
    await client.query(`GRANT ${applicationRole} TO CURRENT_USER`);
    await client.query(`GRANT USAGE ON SCHEMA public TO ${applicationRole}`);
  } catch (error) {
    if (role !== undefined && (await mayBecomeApplicationRole(client))) return;
    throw new MigrationError(
      `The database user may not create the role ${applicationRole}. As a superuser, run: CREATE ROLE ${applicationRole} NOLOGIN; GRANT ${applicationRole} TO <the user in GATEHOUSE_DATABASE_URL>; GRANT USAGE ON SCHEMA public TO ${applicationRole}`,
      { cause: error },
    );
  }
}

async function mayBecomeApplicationRole(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>("SELECT pg_has_role($1, 'MEMBER') AS may", [applicationRole]);
  return rows[0]?.may === true;
}

/** Adopts a database from before the baseline. @returns the migrations that are not applied yet, in order */
async function pending(client: pg.Client): Promise<readonly Migration[]> {
  const { rows } = await client.query<AppliedMigration>(
    "SELECT version, name, checksum FROM schema_migrations ORDER BY version",
  );
  const migrations = knownMigrations();
  const early = rows.filter(({ version }) => version < baselineVersion);
  const later = rows.filter(({ version }) => version >= baselineVersion);
  const baseline = migrations.find(({ version }) => version === baselineVersion);
  if (early.length > 0 && baseline !== undefined) {
    const obstacle = obstacleToAdoption(early);
    if (obstacle !== undefined) throw new MigrationError(obstacle);
    later.push(baseline);
  }
  const missing = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const row of later) {
    const migration = missing.get(row.version);
    if (migration === undefined) {
      throw new MigrationError(
        `The database has the migration ${row.name}, which this version of Gatehouse does not know. Start the newer version that made it.`,
      );
    }
    if (migration.checksum !== row.checksum) {
      throw new MigrationError(
        `The migration ${row.name} was applied with another text than this version has. Restore the file, or start the version that applied it.`,
      );
    }
    missing.delete(row.version);
  }
  if (early.length > 0 && baseline !== undefined) await adopt(client, baseline);
  return [...missing.values()];
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query(migration.text);
    await client.query("INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)", [
      migration.version,
      migration.name,
      migration.checksum,
    ]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    const message = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`The migration ${migration.name} failed and was rolled back: ${message}`, {
      cause: error,
    });
  }
}
