/**
 * Adoption of databases from before the baseline. `0015_initial_schema.sql` replaced the migrations 1 to 14, and a
 * database with all of them has exactly its schema (baseline.test.ts proves it). Only the record of the migrations
 * changes.
 */
import type pg from "pg";

/** A migration as the table schema_migrations stores it. */
export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  /** SHA-256 of the file, in hexadecimal. */
  readonly checksum: string;
}

/** The migration that creates the initial schema. */
export const baselineVersion = 15;

/** The migrations that the baseline replaced, with their checksums. */
export const replacedMigrations: ReadonlyMap<string, string> = new Map([
  ["0001_foundation.sql", "253776bc0403002f9ca2a47da261fa20d4dbff86454d3ccf356b1da666c211f3"],
  ["0003_former_gateway_tokens.sql", "68e299a6e7320370482cb337e856aa4733da97b92d776fdca47200e36c4e8ee4"],
  ["0004_audit_chain.sql", "7b58916439c21c4a7985752c0033a8d7cbadb116291b886d860d3bbebc27914f"],
  ["0005_webhooks.sql", "6825731ec53b68c8475a7455404338ad97628396a7f9c9a1032e3869ea44fc22"],
  ["0006_rate_counts.sql", "2391c55fc786777ea4033910b81be1951af143f1dac748ce341adfee3ee1bb4c"],
  ["0008_access_history.sql", "52c56b4359474b3f1de11c25ef2a2f38e488577633c16ccf6839ca18aa207b79"],
  ["0009_access_tests.sql", "6e07e10440f2f9b1cd1101dd7aa855fac813281d1e3f7e817f85a1ad13ab8149"],
  ["0010_gateway_link.sql", "15b62b3deceafd331ec97a50ecdfb83376a05d235528d44324a801c6aa7624e1"],
  ["0011_console_sessions.sql", "d1ec1cb93db0a76982e4845f5858e2e2de782f2c58b85b3d5ca7d265459e6f0f"],
  ["0012_device_link.sql", "8ab730cc6fc7eef6cad20d0a3732016b5eb2e31d8a01a7847612e157c43f3dbb"],
  ["0013_gateway_settings.sql", "e7f33f680b16e0c1b6745d9689e18aa77772fd89d3ce19b64d4fbbd4fc660081"],
  ["0014_device_sources.sql", "e13a6023d29f9232023478b0f20b2093a4858c7a05756f328975d2b8397594da"],
]);

/**
 * @param applied all migrations before the baseline that the database has, in order; at least one
 * @returns why the database cannot be adopted, and the remedy; undefined if it can
 */
export function obstacleToAdoption(applied: readonly AppliedMigration[]): string | undefined {
  const names = [...replacedMigrations.keys()];
  const changed = applied.find(({ name, checksum }) => replacedMigrations.get(name) !== checksum);
  if (changed !== undefined) {
    return `The migration ${changed.name} was applied with a text that no released version has. Start the version that applied it, or restore a backup.`;
  }
  if (applied.length === names.length) return undefined;
  const present = new Set(applied.map(({ name }) => name));
  const missing = names.find((name) => !present.has(name));
  return `The database is too old for this version of Gatehouse: it lacks the migration ${missing}. First run "gatehouse migrate" of a version that has ${names.at(-1)}, then start this version.`;
}

/** Records the baseline in place of the migrations that it replaced, in one transaction. */
export async function adopt(client: pg.Client, baseline: AppliedMigration): Promise<void> {
  await client.query(
    `WITH replaced AS (DELETE FROM schema_migrations WHERE version < $1)
     INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)`,
    [baseline.version, baseline.name, baseline.checksum],
  );
}
