import type { AccessTest, TestExpectation, TestSubjectType } from "@gatehouse/contract/records/access-test";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import type { ListSource } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import { isUuid } from "../../platform/ids.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { listPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** The question of a test as it is stored. */
export interface TestQuestion {
  readonly subject_type: TestSubjectType;
  /** Null for all users. */
  readonly subject_id: string | null;
  readonly device: AccessTest["device"];
  readonly resource_type: AccessTest["resource"]["type"];
  readonly resource_id: string;
  readonly properties: NonNullable<AccessTest["resource"]["properties"]>;
  readonly context: NonNullable<AccessTest["context"]>;
  readonly expected: TestExpectation;
}

/** The settings that administrators give a test. */
export interface TestSettings extends TestQuestion {
  readonly name: string;
  readonly description: string;
  readonly enforced: boolean;
}

/** The question of a stored test, with the name of the test. */
export type StoredQuestion = TestQuestion & Pick<AccessTestRow, "id" | "name" | "enforced">;

export interface AccessTestRow extends TestSettings {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  /** Null for all users, and after the record was deleted. */
  readonly subject_name: string | null;
  /** Null for an address, and after the resource was deleted. */
  readonly resource_name: string | null;
}

/** SQL for the columns of a row that the statement names `item`. */
const columns = `item.id, item.created_at, item.updated_at, item.version, item.name, item.description, item.enforced,
  item.subject_type, item.subject_id, item.device, item.resource_type, item.resource_id, item.properties, item.context,
  item.expected,
  CASE item.subject_type
    WHEN 'group' THEN (SELECT name FROM groups WHERE tenant_id = item.tenant_id AND id = item.subject_id)
    WHEN 'user' THEN (SELECT email FROM users WHERE tenant_id = item.tenant_id AND id = item.subject_id)
    WHEN 'device' THEN (SELECT name FROM devices WHERE tenant_id = item.tenant_id AND id = item.subject_id)
  END AS subject_name,
  CASE item.resource_type
    WHEN 'resource' THEN (SELECT name FROM resources WHERE tenant_id = item.tenant_id AND id = item.resource_id::uuid)
  END AS resource_name`;

const source: ListSource = {
  table: "access_tests",
  select: columns,
  columns: {
    id: { value: "item.id" },
    name: { value: "item.name", key: "item.name_key" },
    createdAt: { value: "item.created_at" },
    enforced: { value: "item.enforced" },
    expected: { value: "item.expected" },
    "subject.type": { value: "item.subject_type" },
    "subject.id": { value: "item.subject_id" },
    "resource.id": { value: "item.resource_id" },
  },
};

const selectOne = statement<AccessTestRow, [tenantId: string, id: string]>(
  "access_tests.read",
  `SELECT ${columns} FROM access_tests AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectForChange = statement<AccessTestRow, [tenantId: string, id: string]>(
  "access_tests.lock",
  `SELECT ${columns} FROM access_tests AS item WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE`,
);
const selectMany = statement<AccessTestRow, [tenantId: string, ids: readonly string[] | null]>(
  "access_tests.read_many",
  `SELECT ${columns} FROM access_tests AS item
   WHERE item.tenant_id = $1 AND ($2::uuid[] IS NULL OR item.id = ANY ($2::uuid[])) ORDER BY item.id`,
);
const selectQuestions = statement<
  StoredQuestion,
  [tenantId: string, enforcedOnly: boolean, unchangedSince: Date | null]
>(
  "access_tests.questions",
  `SELECT id, name, enforced, subject_type, subject_id, device, resource_type, resource_id, properties, context, expected
   FROM access_tests WHERE tenant_id = $1 AND (enforced OR NOT $2)
     AND ($3::timestamptz IS NULL OR updated_at <= $3) ORDER BY id`,
);
const selectCount = statement<{ count: number }, [tenantId: string]>(
  "access_tests.count",
  "SELECT count FROM record_counts WHERE tenant_id = $1 AND kind = 'access_tests'",
);

type SettingParameters = [
  tenantId: string,
  id: string,
  at: Date,
  name: string,
  description: string,
  enforced: boolean,
  subjectType: string,
  subjectId: string | null,
  device: string,
  resourceType: string,
  resourceId: string,
  properties: string,
  context: string,
  expected: string,
];

const insert = statement<never, SettingParameters>(
  "access_tests.insert",
  `INSERT INTO access_tests (tenant_id, id, created_at, updated_at, name, description, enforced, subject_type, subject_id,
                             device, resource_type, resource_id, properties, context, expected)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12::jsonb, $13::jsonb, $14)`,
);
const update = statement<never, SettingParameters>(
  "access_tests.update",
  `UPDATE access_tests
   SET updated_at = $3, version = version + 1, name = $4, description = $5, enforced = $6, subject_type = $7,
       subject_id = $8, device = $9::jsonb, resource_type = $10, resource_id = $11, properties = $12::jsonb,
       context = $13::jsonb, expected = $14
   WHERE tenant_id = $1 AND id = $2`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "access_tests.delete",
  "DELETE FROM access_tests WHERE tenant_id = $1 AND id = $2",
);

/** Finds a record by id or by name. An id takes precedence over a name that looks like an id. */
const findUser = statement<{ id: string }, FindParameters>(
  "access_tests.find_user",
  `SELECT id FROM users WHERE tenant_id = $1 AND (id = $2 OR email_key = lower($3::text)) ORDER BY id IS DISTINCT FROM $2
   LIMIT 1`,
);
const findGroup = statement<{ id: string }, FindParameters>(
  "access_tests.find_group",
  "SELECT id FROM groups WHERE tenant_id = $1 AND (id = $2 OR name = $3) ORDER BY id IS DISTINCT FROM $2 LIMIT 1",
);
const findResource = statement<{ id: string }, FindParameters>(
  "access_tests.find_resource",
  "SELECT id FROM resources WHERE tenant_id = $1 AND (id = $2 OR name = $3) ORDER BY id IS DISTINCT FROM $2 LIMIT 1",
);
/** Device names are not unique, so only the id identifies a device. */
const findDevice = statement<{ id: string }, [tenantId: string, id: string | null]>(
  "access_tests.find_device",
  "SELECT id FROM devices WHERE tenant_id = $1 AND id = $2",
);
type FindParameters = [tenantId: string, id: string | null, name: string];

const finders = { user: findUser, group: findGroup, resource: findResource };

/** @returns the id of the record; undefined if the tenant has no record with this id or name */
export async function findNamed(
  tx: TenantTx,
  kind: keyof typeof finders | "device",
  idOrName: string,
): Promise<string | undefined> {
  const id = isUuid(idOrName) ? idOrName.toLowerCase() : null;
  const found =
    kind === "device"
      ? await tx.query(findDevice, tx.tenantId, id)
      : await tx.query(finders[kind], tx.tenantId, id, idOrName);
  return found[0]?.id;
}

export function listAccessTests(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly rows: AccessTestRow[]; readonly total: number }> {
  return listPage(tx, source, query);
}

export async function readAccessTest(tx: TenantTx, id: string): Promise<AccessTestRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** @param ids undefined for all tests of the tenant */
export function readAccessTests(tx: TenantTx, ids: readonly string[] | undefined): Promise<AccessTestRow[]> {
  return tx.query(selectMany, tx.tenantId, ids ?? null);
}

/**
 * The questions of all tests, or of the enforced ones.
 *
 * @param unchangedSince excludes tests that were created or changed later
 */
export function readQuestions(
  tx: TenantTx,
  which: "all" | "enforced",
  unchangedSince: Date | null = null,
): Promise<StoredQuestion[]> {
  return tx.query(selectQuestions, tx.tenantId, which === "enforced", unchangedSince);
}

/** Reads the test. Nobody else can change it before the transaction ends. */
export async function lockAccessTest(tx: TenantTx, id: string): Promise<AccessTestRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/** The number of tests. It is exact after an insertion, because concurrent insertions wait. */
export async function countAccessTests(tx: TenantTx): Promise<number> {
  return (await tx.query(selectCount, tx.tenantId))[0]?.count ?? 0;
}

/** @throws AppError name_taken */
export function insertAccessTest(
  tx: TenantTx,
  _granted: Granted<"access-tests:write">,
  id: string,
  settings: TestSettings,
  at: Date,
): Promise<AccessTestRow> {
  return write(tx, insert, id, settings, at);
}

/**
 * Updates a locked test.
 *
 * @throws AppError name_taken
 */
export function updateAccessTest(
  tx: TenantTx,
  _granted: Granted<"access-tests:write">,
  id: string,
  settings: TestSettings,
  at: Date,
): Promise<AccessTestRow> {
  return write(tx, update, id, settings, at);
}

async function write(
  tx: TenantTx,
  writing: typeof insert,
  id: string,
  settings: TestSettings,
  at: Date,
): Promise<AccessTestRow> {
  const { name } = settings;
  const nameTaken = () =>
    new AppError("name_taken", {
      detail: `The tenant already has an access test with the name ${JSON.stringify(name)}. Choose another name.`,
      errors: [bodyField("/name", "is taken")],
    });
  await withConstraints(
    { access_tests_name_unique: nameTaken },
    tx.query(
      writing,
      tx.tenantId,
      id,
      at,
      name,
      settings.description,
      settings.enforced,
      settings.subject_type,
      settings.subject_id,
      JSON.stringify(settings.device),
      settings.resource_type,
      settings.resource_id,
      JSON.stringify(settings.properties),
      JSON.stringify(settings.context),
      settings.expected,
    ),
  );
  const row = await readAccessTest(tx, id);
  if (row === undefined) throw new Error("the written access test was not returned");
  return row;
}

export async function deleteAccessTest(
  tx: TenantTx,
  _granted: Granted<"access-tests:write">,
  id: string,
): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
