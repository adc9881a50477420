/** Checks of the database: its version, the role for requests, the locale and the schema. Changes nothing. */
import pg from "pg";
import { applicationRole, type Connection } from "../platform/db/database.ts";
import { knownMigrations } from "../platform/db/migrations.ts";
import { type Finding, ok, problem, reasonOf } from "./finding.ts";

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

/**
 * @param connection settings; they are not shown, because they can contain a password
 * @param role the role for requests
 */
export async function checkDatabase(connection: Connection, role = applicationRole): Promise<readonly Finding[]> {
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
    return [checkVersion(facts), checkLocale(facts), checkRole(facts, role), await checkSchema(client, facts)];
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
  const expected = Math.max(...knownMigrations().map((each) => each.version));
  if (version > expected) {
    const remedy = "Install the version of Gatehouse that migrated the database, or restore a backup.";
    return problem("schema", `The schema has version ${version}, this program knows ${expected}.`, remedy);
  }
  return ok("schema", version < expected ? "The next start migrates the schema." : "The schema is up to date.");
}
