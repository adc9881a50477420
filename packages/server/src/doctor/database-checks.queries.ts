/** Checks of the database: its version, the role for requests, the locale and the schema. Changes nothing. */
import pg from "pg";
import type { AcmeName, AcmeRow } from "../platform/acme/acme.queries.ts";
import { applicationRole, type Connection } from "../platform/db/database.ts";
import { newestMigration } from "../platform/db/migrations.ts";
import { createSecretBox, type MasterKeys } from "../platform/secrets/master-key.ts";
import { type Finding, ok, problem, reasonOf, skipped, warning } from "./finding.ts";

/** The schema is the one of this version. */
export const upToDate = "The schema is up to date.";

const timeoutMs = 5_000;
const oldestVersion = 15;

interface Facts {
  readonly version: number;
  readonly encoding: string;
  readonly exists: boolean;
  readonly member: boolean;
  readonly bypasses: boolean;
  readonly creates: boolean;
  readonly migrated: boolean;
  readonly user: string;
}

const selectFacts = `
  SELECT current_setting('server_version_num')::int / 10000 AS version,
         pg_encoding_to_char(encoding) AS encoding,
         EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS exists,
         COALESCE((SELECT pg_has_role(current_user, oid, 'MEMBER') FROM pg_roles WHERE rolname = $1), false) AS member,
         COALESCE((SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1), false) AS bypasses,
         (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) AS creates,
         to_regclass('schema_migrations') IS NOT NULL AS migrated,
         current_user AS user
    FROM pg_database WHERE datname = current_database()`;

export interface DatabaseChecks {
  /** The role for requests. */
  readonly role?: string | undefined;
  /** The certificate to check; undefined if the server gets none by ACME. */
  readonly acme?: AcmeName | undefined;
  /** Decrypt the private key of the certificate; undefined: the certificate is not tried. */
  readonly masterKeys?: MasterKeys | undefined;
  readonly now?: Date;
}

/**
 * @param connection settings; they are not shown, because they can contain a password
 */
export async function checkDatabase(
  connection: Connection,
  { role = applicationRole, acme, masterKeys, now = new Date() }: DatabaseChecks = {},
): Promise<readonly Finding[]> {
  const client = new pg.Client({
    ...connection,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    application_name: "gatehouse doctor",
  });
  // A lost connection also rejects the query.
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Facts>(selectFacts, [role]);
    const [facts] = rows;
    if (facts === undefined) return [];
    const found = [checkVersion(facts), checkLocale(facts), checkRole(facts, role), await checkSchema(client, facts)];
    return acme === undefined || !facts.migrated ? found : [...found, await checkAcme(client, acme, masterKeys, now)];
  } catch (error) {
    const remedy =
      "Check that PostgreSQL runs, and the host, user, password and TLS options in GATEHOUSE_DATABASE_URL.";
    return [problem("database", `The database does not answer (${reasonOf(error)}).`, remedy)];
  } finally {
    await client.end().catch(() => {});
  }
}

export function checkVersion({ version }: Pick<Facts, "version">): Finding {
  if (version >= oldestVersion) return ok("database", `PostgreSQL ${version} answers.`);
  const remedy = `Upgrade PostgreSQL to version ${oldestVersion} or newer.`;
  return problem("database", `PostgreSQL has version ${version}.`, remedy);
}

function checkLocale({ encoding }: Facts): Finding {
  if (encoding === "UTF8") return ok("database locale", "The database uses UTF-8.");
  const remedy = "Create the database again, with ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0.";
  return problem("database locale", `The database uses ${encoding} instead of UTF-8.`, remedy);
}

function checkRole({ exists, member, bypasses, creates, user }: Facts, role: string): Finding {
  if (!exists) {
    if (creates) return ok("database role", `The next start creates the role ${role}.`);
    const remedy = `As a superuser, run: CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO "${user}";`;
    return problem("database role", `The role ${role} does not exist.`, remedy);
  }
  if (bypasses) {
    const remedy = `As a superuser, run: ALTER ROLE ${role} NOSUPERUSER NOBYPASSRLS;`;
    return problem("database role", `The role ${role} bypasses row-level security.`, remedy);
  }
  if (!member) {
    const remedy = `As a superuser, run: GRANT ${role} TO "${user}";`;
    return problem("database role", `The user ${user} is not a member of ${role}.`, remedy);
  }
  return ok("database role", `The user ${user} is a member of ${role}.`);
}

async function checkSchema(client: pg.Client, { migrated }: Facts): Promise<Finding> {
  if (!migrated) return ok("schema", "The database is empty; the next start creates the schema.");
  const { rows } = await client.query<{ version: number }>("SELECT max(version) AS version FROM schema_migrations");
  const version = Number(rows[0]?.version ?? 0);
  const expected = newestMigration();
  if (version > expected) {
    const remedy = "Install the version of Gatehouse that migrated the database, or restore a backup.";
    return problem("schema", `The schema has version ${version}, this program knows ${expected}.`, remedy);
  }
  return ok("schema", version < expected ? "The next start migrates the schema." : upToDate);
}

interface AcmeState {
  readonly not_before: Date | null;
  readonly not_after: Date | null;
  readonly error: string | null;
}

type StoredCertificate = AcmeState & Pick<AcmeRow, "certificate" | "private_key_ciphertext">;

const selectAcme = `SELECT not_before, not_after, error, certificate, private_key_ciphertext
  FROM acme_certificates WHERE directory_url = $1 AND host = $2`;

async function checkAcme(
  client: pg.Client,
  acme: AcmeName,
  masterKeys: MasterKeys | undefined,
  now: Date,
): Promise<Finding> {
  const { directoryUrl, host } = acme;
  const { rows: tables } = await client.query("SELECT FROM pg_class WHERE oid = to_regclass('acme_certificates')");
  // The table belongs to the operator, even for the owner of the database.
  await client.query("SELECT set_config('app.operator', 'on', false)");
  const { rows } =
    tables.length === 0 ? { rows: [] } : await client.query<StoredCertificate>(selectAcme, [directoryUrl, host]);
  const [state] = rows;
  if (state === undefined || masterKeys === undefined) return acmeFinding(state, host, now);
  const { servingFault } = await import("../platform/acme/acme-certificate.ts");
  return acmeFinding(state, host, now, servingFault(state, acme, createSecretBox(masterKeys, "acme-key")));
}

/** @param fault why servers cannot present the certificate; undefined: they can, or it is unknown */
export function acmeFinding(state: AcmeState | undefined, host: string, now: Date, fault?: string): Finding {
  const remedy = "Check that the authority reaches the public address, and read the log: journalctl -u gatehouse";
  const failed = state?.error == null ? "" : ` The last order failed: ${state.error}.`;
  if (state?.not_after == null || state.not_before === null) {
    if (failed === "") return skipped("tls", `The next start orders a certificate for ${host}.`);
    return problem("tls", `No certificate is stored for ${host}.${failed}`, remedy);
  }
  if (fault !== undefined) {
    return problem("tls", `The certificate for ${host} cannot be used: ${fault}.${failed}`, remedy);
  }
  const message = `The certificate for ${host} is valid until ${state.not_after.toISOString()}.${failed}`;
  const left = state.not_after.getTime() - now.getTime();
  if (left <= 0) return problem("tls", message, remedy);
  // It is renewed when a third of its validity period is left.
  const isLate = left < (state.not_after.getTime() - state.not_before.getTime()) / 4;
  return failed === "" && !isLate ? ok("tls", message) : warning("tls", message, remedy);
}
