/**
 * The Ed25519 keys that sign configurations. A tenant's key is generated at its first use. Each key signs the next one
 * (docs/decisions/0070).
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import {
  handoverText,
  mostHandovers,
  type SigningKeyHandover,
} from "@gatehouse/agent-protocol/link/signing-key-handover";
import type { Clock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/secrets/master-key.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";
import {
  insertHandover,
  insertSigningKey,
  lockSigningKey,
  readHandovers,
  readSigningKey,
  replaceSigningKey,
  type SigningKeyRow,
} from "./signing-keys.queries.ts";

export interface SigningKey {
  /** 32 bytes in base64. */
  readonly publicKey: string;
  /** The statements by which earlier keys led to this one, the oldest first. */
  readonly handovers: readonly SigningKeyHandover[];
  /** @returns the signature of a text's UTF-8, in base64 */
  sign(text: string): string;
}

/** The length of an Ed25519 key in bytes. Both DER forms of RFC 8410 end with the key. */
const keyBytes = 32;

/** Binds a ciphertext to its tenant: it cannot be decrypted in the row of another one. */
function signingKeyContext(tenantId: string): string {
  return `signing-key:${tenantId}`;
}

/**
 * Returns the tenant's key, and generates it if there is none. Replicas that do so at the same time agree on one key.
 */
export async function openSigningKey(
  database: Database,
  box: SecretBox,
  tenantId: string,
  now: Date,
): Promise<SigningKey> {
  const scope = { kind: "tenant", tenantId } as const;
  const [known, handovers] = await database.snapshot(scope, ({ query }) =>
    Promise.all([readSigningKey({ tenantId, query }), readHandovers({ tenantId, query }, mostHandovers)]),
  );
  if (known !== undefined) return { ...signingKeyOf(known, box, tenantId), handovers };
  const made = generateSigningKey(box, tenantId);
  const row = await database.transaction(scope, async ({ query }) => {
    await insertSigningKey({ tenantId, query }, made, now);
    return readSigningKey({ tenantId, query });
  });
  if (row === undefined) throw new Error("the tenant was deleted while its signing key was generated");
  return { ...signingKeyOf(row, box, tenantId), handovers: [] };
}

/**
 * Replaces the tenant's key by a new one that the current one signs.
 *
 * @returns the public keys in base64
 */
export async function rotateSigningKey(
  tx: TenantTx,
  box: SecretBox,
  now: Date,
): Promise<{ readonly from: string; readonly to: string }> {
  await insertSigningKey(tx, generateSigningKey(box, tx.tenantId), now);
  const row = await lockSigningKey(tx);
  if (row === undefined) throw new Error("the tenant was deleted while its signing key was rotated");
  const next = generateSigningKey(box, tx.tenantId);
  const from = row.public_key.toString("base64");
  const to = next.public_key.toString("base64");
  const signature = signingKeyOf(row, box, tx.tenantId).sign(handoverText({ from, to }));
  await Promise.all([insertHandover(tx, { from, to, signature }, now), replaceSigningKey(tx, next, now)]);
  return { from, to };
}

/** Returns a function that reads the tenant's key at its first call, and again only after a failure. */
export function cachedSigningKey(
  { database, secrets }: CommandRunner,
  tenantId: string,
  clock: Clock,
): () => Promise<SigningKey> {
  let key: Promise<SigningKey> | undefined;
  return () => {
    key ??= openSigningKey(database, secrets.signingKeys, tenantId, clock.now()).catch((error: unknown) => {
      key = undefined;
      throw error;
    });
    return key;
  };
}

function generateSigningKey(box: SecretBox, tenantId: string): SigningKeyRow {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const der = privateKey.export({ type: "pkcs8", format: "der" });
  return {
    public_key: publicKey.export({ type: "spki", format: "der" }).subarray(-keyBytes),
    private_key_ciphertext: box.seal(der.toString("base64"), signingKeyContext(tenantId)),
  };
}

function signingKeyOf(row: SigningKeyRow, box: SecretBox, tenantId: string): Omit<SigningKey, "handovers"> {
  const der = Buffer.from(box.open(row.private_key_ciphertext, signingKeyContext(tenantId)), "base64");
  const privateKey: KeyObject = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return {
    publicKey: row.public_key.toString("base64"),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64"),
  };
}
