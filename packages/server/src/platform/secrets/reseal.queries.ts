/** Every stored secret, for re-encryption with another master key. */
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

/** A stored secret. `key` identifies its row within the table. */
export interface StoredSecret {
  readonly key: string;
  /** The associated data that binds the secret to its row. */
  readonly context: string;
  readonly ciphertext: Buffer;
}

type Select = ReturnType<typeof statement<StoredSecret, [afterKey: string, limit: number]>>;
type Replace = ReturnType<typeof statement<{ replaced: boolean }, [key: string, former: Buffer, ciphertext: Buffer]>>;

/** The statements for one table, inside a tenant or in the operator's scope. */
export interface SecretTable {
  readonly name: string;
  readonly purpose:
    | "acme-key"
    | "audit-key"
    | "enrolment-link"
    | "gateway-token"
    | "idempotent-reply"
    | "provider-secret"
    | "signing-key"
    | "webhook-secret";
  /** Secrets after a key, in the order of their keys. */
  readonly select: Select;
  /** Replaces a secret unless it was changed meanwhile. Waits for the lock of its row. */
  readonly replace: Replace;
  /** The same without waiting: replaces nothing if the row is locked. */
  readonly replaceFree: Replace;
}

interface TableText {
  readonly name: string;
  readonly purpose: SecretTable["purpose"];
  readonly from: string;
  readonly column: string;
  /** Text expressions. */
  readonly key: string;
  readonly context: string;
}

/** The secrets of the tenant in the scope. The operator's scope could see rows of others too. */
function tenantTable(text: TableText): SecretTable {
  return secretTable(text, "tenant_id = current_tenant() AND ");
}

function secretTable({ name, purpose, from, column, key, context }: TableText, condition = ""): SecretTable {
  return {
    name,
    purpose,
    select: statement(
      `reseal.select_${name}`,
      `SELECT ${key} AS key, ${context} AS context, ${column} AS ciphertext FROM ${from}
       WHERE ${condition}${column} IS NOT NULL AND ${key} > $1 COLLATE "C" ORDER BY ${key} COLLATE "C" LIMIT $2`,
    ),
    replace: statement(
      `reseal.replace_${name}`,
      `UPDATE ${from} SET ${column} = $3 WHERE ${condition}${key} = $1 AND ${column} = $2 RETURNING true AS replaced`,
    ),
    replaceFree: statement(
      `reseal.replace_free_${name}`,
      `WITH free AS MATERIALIZED (
         SELECT ctid FROM ${from} WHERE ${condition}${key} = $1 AND ${column} = $2 FOR NO KEY UPDATE SKIP LOCKED
       )
       UPDATE ${from} AS stored SET ${column} = $3 FROM free WHERE stored.ctid = free.ctid RETURNING true AS replaced`,
    ),
  };
}

/** The owner column of a reply is null for none: replies of the operator have the nil UUID as tenant. */
const replies = {
  name: "idempotent_replies",
  purpose: "idempotent-reply",
  from: "idempotent_replies",
  column: "reply_ciphertext",
  key: "(caller_id || ':' || encode(key_hash, 'hex'))",
  context: "(tenant_id || ':' || caller_id || ':' || encode(key_hash, 'hex'))",
} as const;

/** The secrets of a tenant. */
export const tenantSecrets: readonly SecretTable[] = [
  tenantTable({
    name: "identity_providers",
    purpose: "provider-secret",
    from: "identity_providers",
    column: "client_secret_ciphertext",
    key: "id::text",
    context: "('identity-provider:' || tenant_id || ':' || id)",
  }),
  tenantTable({
    name: "enrolment_codes",
    purpose: "enrolment-link",
    from: "enrolment_links",
    column: "code_ciphertext",
    key: "id::text",
    context: "('enrolment-code:' || tenant_id || ':' || id)",
  }),
  tenantTable({
    name: "enrolment_mails",
    purpose: "enrolment-link",
    from: "enrolment_links",
    column: "mailed_token_ciphertext",
    key: "id::text",
    context: "('enrolment-mail:' || tenant_id || ':' || id)",
  }),
  tenantTable({
    name: "gateways",
    purpose: "gateway-token",
    from: "gateways",
    column: "token_ciphertext",
    key: "id::text",
    context: "('gateway:' || tenant_id || ':' || id)",
  }),
  tenantTable({
    name: "webhook_secrets",
    purpose: "webhook-secret",
    from: "webhook_secrets",
    column: "ciphertext",
    key: "(webhook_id || ':' || id)",
    context: "('webhook:' || tenant_id || ':' || webhook_id || ':' || id)",
  }),
  tenantTable({
    name: "signing_keys",
    purpose: "signing-key",
    from: "signing_keys",
    column: "private_key_ciphertext",
    key: "tenant_id::text",
    context: "('signing-key:' || tenant_id)",
  }),
  tenantTable(replies),
];

/** The secrets of the installation, in the operator's scope. */
export const installationSecrets: readonly SecretTable[] = [
  secretTable({
    name: "acme_accounts",
    purpose: "acme-key",
    from: "acme_certificates",
    column: "account_key_ciphertext",
    key: "(directory_url || ' ' || host)",
    context: "('acme-account:' || directory_url || ' ' || host)",
  }),
  secretTable({
    name: "acme_certificates",
    purpose: "acme-key",
    from: "acme_certificates",
    column: "private_key_ciphertext",
    key: "(directory_url || ' ' || host)",
    context: "('acme-certificate:' || directory_url || ' ' || host)",
  }),
  secretTable({
    name: "audit_keys",
    purpose: "audit-key",
    from: "audit_keys",
    column: "private_key_ciphertext",
    key: "number::text",
    context: "('audit-key:' || translate(encode(public_key, 'base64'), E'\\n', ''))",
  }),
];

/** The operator's replies, in the operator's scope with the nil UUID as tenant. */
export const operatorReplies: SecretTable = tenantTable({ ...replies, name: "operator_replies" });

const selectTenants = statement<{ id: string }, [afterTenantId: string, limit: number]>(
  "reseal.tenants",
  "SELECT id FROM tenants WHERE id > $1 ORDER BY id LIMIT $2",
);
const replaceCheck = statement<never, [former: Buffer, value: Buffer]>(
  "reseal.replace_check",
  "UPDATE installation SET value = $2 WHERE name = 'master-key-check' AND value = $1",
);
const selectCheck = statement<{ value: Buffer }, []>(
  "reseal.select_check",
  "SELECT value FROM installation WHERE name = 'master-key-check'",
);

export async function tenantsFrom(
  transaction: Transaction,
  afterTenantId: string,
  limit: number,
): Promise<readonly string[]> {
  return (await transaction.query(selectTenants, afterTenantId, limit)).map(({ id }) => id);
}

/** The known text that reveals a start with the wrong master key. */
export async function masterKeyCheckValue(transaction: Transaction): Promise<Buffer | undefined> {
  return (await transaction.query(selectCheck))[0]?.value;
}

const overwriteCheck = statement<never, [value: Buffer]>(
  "reseal.overwrite_check",
  "UPDATE installation SET value = $1 WHERE name = 'master-key-check'",
);

/** Also replaces a text that another transaction has just stored. */
export async function overwriteMasterKeyCheck(transaction: Transaction, value: Buffer): Promise<void> {
  await transaction.query(overwriteCheck, value);
}

export async function replaceMasterKeyCheck(transaction: Transaction, former: Buffer, value: Buffer): Promise<void> {
  await transaction.query(replaceCheck, former, value);
}

const selectTarget = statement<{ value: Buffer }, []>(
  "reseal.rotation_target",
  "SELECT value FROM installation WHERE name = 'master-key-target'",
);
const upsertTarget = statement<never, [fingerprint: Buffer]>(
  "reseal.store_rotation_target",
  `INSERT INTO installation (name, value) VALUES ('master-key-target', $1)
   ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
);

/** The fingerprint of the master key that everything is to be encrypted with; undefined before the first rotation. */
export async function rotationTarget(transaction: Transaction): Promise<Buffer | undefined> {
  return (await transaction.query(selectTarget))[0]?.value;
}

export async function storeRotationTarget(transaction: Transaction, fingerprint: Buffer): Promise<void> {
  await transaction.query(upsertTarget, fingerprint);
}
