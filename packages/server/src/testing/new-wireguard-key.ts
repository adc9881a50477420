/** Key pairs of devices with any WireGuard app, and the proofs of their owners. */
import { SimulatedKey } from "./simulated-agent.ts";
import type { TestClient } from "./test-server.ts";

export interface KeyAnswer {
  readonly publicKey: string;
  readonly ticket: string;
  readonly proof: string;
}

/** Requests a challenge, and answers it with the key. */
export async function proveNewKey(person: TestClient, key = new SimulatedKey()): Promise<KeyAnswer> {
  const { body } = await person.must.post("/tenants/my/devices/key-challenge", { publicKey: key.publicKey });
  const { ticket, tenant, user, ephemeralKey, nonce } = body;
  const proof = key.prove("app", { type: "challenge", tenant, agent: user, ephemeralKey, nonce });
  return { publicKey: key.publicKey, ticket, proof };
}
