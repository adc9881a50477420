/** All stored secrets, read in pages. */
import type { Database } from "../db/database.ts";
import type { OperatorScope } from "../db/scope.ts";
import { nilId } from "../ids.ts";
import { createSecretBox, type MasterKeys, type SecretBox } from "./master-key.ts";
import {
  installationSecrets,
  operatorReplies,
  type SecretTable,
  type StoredSecret,
  tenantSecrets,
  tenantsFrom,
} from "./reseal.queries.ts";

const rowsAtOnce = 100;
const tenantsAtOnce = 500;
const operator = { kind: "operator" } as const;

/** A table with secrets, or the part of it that belongs to one tenant. */
export interface ScopedTable {
  /** Always of the operator: a tenant that uses its share of the connections must not delay a rotation. */
  readonly scope: OperatorScope;
  /** The tenant; undefined for the secrets of the installation. */
  readonly tenantId?: string;
  readonly table: SecretTable;
}

/** Every table with secrets, in each scope that has a part of it. */
export async function* scopedTables(database: Database): AsyncGenerator<ScopedTable> {
  for (let after: string | undefined = nilId; after !== undefined; ) {
    const from: string = after;
    const tenants = await database.snapshot(operator, (tx) => tenantsFrom(tx, from, tenantsAtOnce));
    for (const tenantId of tenants) {
      for (const table of tenantSecrets) yield { scope: { kind: "operator", tenantId }, tenantId, table };
    }
    after = tenants.at(-1);
  }
  for (const table of installationSecrets) yield { scope: operator, table };
  yield { scope: { kind: "operator", tenantId: nilId }, table: operatorReplies };
}

export interface SecretPage {
  /** The key after which the page begins. */
  readonly after: string;
  readonly rows: readonly StoredSecret[];
}

/** Reads the secrets after a key, page by page, in the order of their keys. Locks nothing. */
export async function* pagesOf(
  database: Database,
  { scope, table }: ScopedTable,
  first = "",
): AsyncGenerator<SecretPage> {
  for (let after: string | undefined = first; after !== undefined; ) {
    const from: string = after;
    const rows = await database.snapshot(scope, (tx) => tx.query(table.select, from, rowsAtOnce));
    yield { after: from, rows };
    after = rows.length < rowsAtOnce ? undefined : rows.at(-1)?.key;
  }
}

/** Decrypts the secrets of a table. */
export class SecretReader {
  readonly #current: SecretBox;
  readonly #any: SecretBox;

  constructor(masterKeys: MasterKeys, { purpose }: SecretTable) {
    this.#current = createSecretBox(masterKeys.current, purpose);
    this.#any = createSecretBox(masterKeys, purpose);
  }

  /** The key that decrypts a secret; `unreadable` if neither does. */
  keyOf({ ciphertext, context }: StoredSecret): "current" | "second" | "unreadable" {
    if (opened(this.#current, ciphertext, context) !== undefined) return "current";
    return opened(this.#any, ciphertext, context) === undefined ? "unreadable" : "second";
  }

  /** Encrypts a secret with the current key. @throws if neither key decrypts it */
  resealed({ ciphertext, context }: StoredSecret): Buffer {
    return this.#current.seal(this.#any.open(ciphertext, context), context);
  }
}

function opened(box: SecretBox, ciphertext: Buffer, context: string): string | undefined {
  try {
    return box.open(ciphertext, context);
  } catch {
    return undefined;
  }
}
