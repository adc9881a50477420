import type * as operations from "@gatehouse/contract/operations/gateways.operations";
import type { ConfigurationSigningKey } from "@gatehouse/contract/records/configuration-signing-key";
import { rotateSigningKey as replaceKey } from "../../agent-identity/signing-keys.ts";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record } from "../../platform/outcome.ts";

/** The outbox entry makes every replica end the connections of the tenant's agents, which then learn the new key. */
export async function rotateSigningKey(call: Call<typeof operations.rotateSigningKey>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { from, to } = await replaceKey(tx, call.secrets.signingKeys, call.now);
    const body: ConfigurationSigningKey = { algorithm: "Ed25519", publicKey: to };
    const { reason } = call.body;
    const after = { publicKey: to, ...(reason === undefined ? {} : { reason }) };
    tx.record({ type: "signing-key", id: tx.tenantId, before: { publicKey: from }, after });
    return record(body, 1);
  });
}
