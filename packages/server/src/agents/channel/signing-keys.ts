/** The key that a tenant's configurations are signed with: Ed25519, made when it is first needed, the same for good. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/secrets/master-key.ts";
import { insertSigningKey, readSigningKey, type SigningKeyRow } from "./signing-keys.queries.ts";

export interface SigningKey {
  /** 32 bytes in base64. */
  readonly publicKey: string;
  /** @returns the signature of a text's UTF-8, in base64 */
  sign(text: string): string;
}

/** How long an Ed25519 key is, in bytes: the end of its DER form in both parts (RFC 8410). */
const keyBytes = 32;

/** What a key's ciphertext is bound to, so that it decrypts in its own row only. */
function signingKeyContext(tenantId: string): string {
  return `signing-key:${tenantId}`;
}

/** The tenant's key; made now where there is none. Replicas that make one at the same time end up with the same. */
export async function openSigningKey(
  database: Database,
  box: SecretBox,
  tenantId: string,
  now: Date,
): Promise<SigningKey> {
  const scope = { kind: "tenant", tenantId } as const;
  const known = await database.snapshot(scope, ({ query }) => readSigningKey({ tenantId, query }));
  if (known !== undefined) return signingKeyOf(known, box, tenantId);
  const made = makeSigningKey(box, tenantId);
  const row = await database.transaction(scope, async ({ query }) => {
    await insertSigningKey({ tenantId, query }, made, now);
    return readSigningKey({ tenantId, query });
  });
  if (row === undefined) throw new Error("the tenant was deleted while its signing key was made");
  return signingKeyOf(row, box, tenantId);
}

function makeSigningKey(box: SecretBox, tenantId: string): SigningKeyRow {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const der = privateKey.export({ type: "pkcs8", format: "der" });
  return {
    public_key: publicKey.export({ type: "spki", format: "der" }).subarray(-keyBytes),
    private_key_ciphertext: box.seal(der.toString("base64"), signingKeyContext(tenantId)),
  };
}

function signingKeyOf(row: SigningKeyRow, box: SecretBox, tenantId: string): SigningKey {
  const der = Buffer.from(box.open(row.private_key_ciphertext, signingKeyContext(tenantId)), "base64");
  const privateKey: KeyObject = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return {
    publicKey: row.public_key.toString("base64"),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64"),
  };
}
