import { createHmac, createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Challenge,
  keyProofDomain,
  keyProofText,
  type ProvenRole,
} from "@gatehouse/agent-protocol/link/key-proof";
import { afterEach, beforeEach, expect, test } from "vitest";
import { publicKeyOf, readAgentKeys, replaceKey } from "./wireguard-key.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-key-"));
  file = join(folder, "wireguard.key");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const server = generateKeyPairSync("x25519");
const challenge: Challenge = {
  type: "challenge",
  tenant: "01980000-0000-7000-8000-000000000001",
  agent: "01980000-0000-7000-8000-000000000002",
  ephemeralKey: server.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64"),
  nonce: Buffer.alloc(32, 5).toString("base64"),
};

/** The proof that the server expects from the owner of a key. */
function expected(key: string, publicKey: string, role: ProvenRole): string {
  const der = Buffer.concat([Buffer.from("302a300506032b656e032100", "hex"), Buffer.from(key, "base64")]);
  const shared = diffieHellman({
    privateKey: server.privateKey,
    publicKey: createPublicKey({ key: der, format: "der", type: "spki" }),
  });
  const secret = hkdfSync("sha256", shared, Buffer.from(challenge.nonce, "base64"), keyProofDomain, 32);
  const text = keyProofText("gateway", challenge, { publicKey, role });
  return createHmac("sha256", Buffer.from(secret)).update(text).digest("base64");
}

test("proves the key, and after a replacement the former one too", async () => {
  const first = await publicKeyOf(file);
  const keys = await readAgentKeys(file);
  expect(keys.publicKey).toBe(first);
  expect(keys.prove("gateway", challenge)).toEqual({ type: "proof", proof: expected(first, first, "current") });
  const text = await readFile(file, "utf8");
  const second = await replaceKey(file);
  expect(second).not.toBe(first);
  expect(await readFile(`${file}.former`, "utf8")).toBe(text);
  expect((await stat(file)).mode & 0o077).toBe(0);
  expect((await readAgentKeys(file)).prove("gateway", challenge)).toEqual({
    type: "proof",
    proof: expected(second, second, "current"),
    previous: { publicKey: first, proof: expected(first, second, "previous") },
  });
});

test.each([`${"A".repeat(43)}=`, `AQ${"A".repeat(41)}=`, "4Ot6fDtBuK4WVuP68Z/EatoJjeucMrH9hmIFFl9JuAA="])(
  "does not answer a challenge with the key of small order %s",
  async (ephemeralKey) => {
    const keys = await readAgentKeys(file);
    expect(() => keys.prove("gateway", { ...challenge, ephemeralKey })).toThrow();
  },
);
