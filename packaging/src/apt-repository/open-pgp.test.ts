import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { armouredPublicKey, clearSigned, openPgpKey } from "./open-pgp.ts";

const withGpg = test.skipIf(["gpg", "gpgv"].some((name) => spawnSync(name, ["--version"]).status !== 0));
const time = 1_764_000_000;
const text = "Origin: Gatehouse\nSuite: stable\n\nSHA256:\n abc 12 main/Packages\n";
const newKey = () => openPgpKey(generateKeyPairSync("ed25519").privateKey);

/** Verifies with the program that apt uses. @returns its output, and whether it accepts the text */
async function verify(publicKey: string, signed: string) {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-gpg-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = (name: string) => path.join(folder, name);
  await writeFile(file("key.asc"), publicKey);
  await writeFile(file("InRelease"), signed);
  const environment = { env: { ...process.env, GNUPGHOME: folder }, encoding: "utf8" } as const;
  const imported = spawnSync(
    "gpg",
    ["--batch", "--dearmor", "--output", file("key.gpg"), file("key.asc")],
    environment,
  );
  expect(imported.stderr).toBe("");
  const listed = spawnSync("gpg", ["--batch", "--show-keys", "--with-colons", file("key.asc")], environment);
  const { status, stderr } = spawnSync("gpgv", ["--keyring", file("key.gpg"), file("InRelease")], environment);
  return { accepted: status === 0, listed: listed.stdout, stderr };
}

withGpg("gpgv accepts the text with any key, and refuses an altered text and another key", async () => {
  // Leading zeros shorten the integers of a signature, so that one key does not show every form.
  for (let round = 0; round < 8; round += 1) {
    const key = newKey();
    const { accepted, stderr, listed } = await verify(
      armouredPublicKey(key, "Gatehouse packages"),
      clearSigned(key, text, time + round),
    );
    expect({ accepted, stderr }).toEqual({ accepted: true, stderr: expect.stringContaining("Good signature") });
    expect(listed).toContain(key.fingerprint.toString("hex").toUpperCase());
    expect(listed).toMatch(/^uid:-:.*:Gatehouse packages:/m);
  }
  const key = newKey();
  const publicKey = armouredPublicKey(key, "Gatehouse packages");
  const altered = clearSigned(key, text, time).replace("stable", "testing");
  expect((await verify(publicKey, altered)).stderr).toContain("BAD signature");
  expect((await verify(publicKey, clearSigned(newKey(), text, time))).accepted).toBe(false);
});

test("the same key and time give the same bytes", () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const [one, other] = [openPgpKey(privateKey), openPgpKey(privateKey)];
  expect(armouredPublicKey(one, "Name")).toBe(armouredPublicKey(other, "Name"));
  expect(clearSigned(one, text, time)).toBe(clearSigned(other, text, time));
});

test.each(["- dash\n", "trailing space \n", "carriage return\r\n", "no line feed"])(
  "refuses the text %j",
  (refused) => {
    expect(() => clearSigned(newKey(), refused, time)).toThrow("need an escape");
  },
);
