import { createHmac, createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync } from "node:crypto";
import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Challenge,
  keyProofDomain,
  keyProofText,
  type ProvenRole,
} from "@gatehouse/agent-protocol/link/key-proof";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type AgentKeys, publicKeyOf, readAgentKeys, replaceKey } from "./wireguard-key.ts";

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

/** The former key that the agent proves now. */
const provedFormer = (keys: AgentKeys) => keys.prove("gateway", challenge).previous?.publicKey;

describe("after a second replacement without a connection", () => {
  test("proves the key that the control plane knows, and retains the others", async () => {
    const first = await publicKeyOf(file);
    const second = await replaceKey(file);
    const third = await replaceKey(file);
    const keys = await readAgentKeys(file);
    expect(keys).toMatchObject({ publicKey: third, formerKeys: [first, second] });
    expect(provedFormer(keys)).toBe(first);
    await keys.accepted();
    const restarted = await readAgentKeys(file);
    expect(restarted).toMatchObject({ publicKey: third, formerKeys: [first, second] });
    expect(provedFormer(restarted)).toBe(first);
    // The next replacement begins with the key that the control plane knows now.
    await replaceKey(file);
    expect(provedFormer(await readAgentKeys(file))).toBe(third);
    expect((await stat(`${file}.former`)).mode & 0o077).toBe(0);
  });

  test("proves the other keys after a refusal, because an earlier agent did not record acceptance", async () => {
    const first = await publicKeyOf(file);
    const second = await replaceKey(file);
    await replaceKey(file);
    const keys = await readAgentKeys(file);
    keys.refused();
    expect(provedFormer(keys)).toBe(second);
    keys.refused();
    expect(provedFormer(keys)).toBe(first);
    keys.refused();
    await keys.accepted();
    // The admission may not be stored. The other keys stay in the list.
    expect((await readAgentKeys(file)).formerKeys).toEqual([second, first]);
  });

  test("always retains the key that the control plane knows, and a limited number of others", async () => {
    const first = await publicKeyOf(file);
    const made: string[] = [];
    for (let count = 0; count < 12; count += 1) made.push(await replaceKey(file));
    const keys = await readAgentKeys(file);
    expect(keys.formerKeys).toEqual([first, made[0], ...made.slice(-7, -1)]);
    await keys.accepted();
    expect((await readAgentKeys(file)).formerKeys).toEqual([first, ...made.slice(-7, -1)]);
    expect((await readFile(`${file}.former`, "utf8")).trim().split("\n")).toHaveLength(8);
  });
});

test("an agent that never replaced its key has no file of former keys", async () => {
  const keys = await readAgentKeys(file);
  await keys.accepted();
  expect(await readdir(folder)).toEqual(["wireguard.key"]);
});

test("a replacement that was killed between its two steps loses no key", async () => {
  const first = await publicKeyOf(file);
  // The first step stores the key as a former one. The second step replaces it.
  await copyFile(file, `${file}.former`);
  expect(await readAgentKeys(file)).toMatchObject({ publicKey: first, formerKeys: [] });
  const second = await replaceKey(file);
  await writeFile(`${file}.former`, `${await readFile(`${file}.former`, "utf8")}${await readFile(file, "utf8")}`);
  expect(await readAgentKeys(file)).toMatchObject({ publicKey: second, formerKeys: [first] });
  await replaceKey(file);
  expect((await readAgentKeys(file)).formerKeys).toEqual([first, second]);
});

test.each([`${"A".repeat(43)}=`, `AQ${"A".repeat(41)}=`, "4Ot6fDtBuK4WVuP68Z/EatoJjeucMrH9hmIFFl9JuAA="])(
  "does not answer a challenge with the key of small order %s",
  async (ephemeralKey) => {
    const keys = await readAgentKeys(file);
    expect(() => keys.prove("gateway", { ...challenge, ephemeralKey })).toThrow();
  },
);
