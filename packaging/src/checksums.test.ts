import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readReleaseKey, signChecksums, writeChecksums } from "./checksums.ts";

async function folderWithKeys() {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-checksums-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const keys = generateKeyPairSync("ed25519");
  const keyFile = path.join(await mkdtemp(path.join(folder, "keys-")), "private.pem");
  const publicFile = path.join(path.dirname(keyFile), "public.pem");
  await writeFile(keyFile, keys.privateKey.export({ format: "pem", type: "pkcs8" }));
  await writeFile(publicFile, keys.publicKey.export({ format: "pem", type: "spki" }));
  return { folder, keyFile, publicFile };
}

const verify = (folder: string, publicFile: string) =>
  execFileSync(
    "openssl",
    ["pkeyutl", "-verify", "-pubin", "-inkey", publicFile, "-rawin", "-in", "SHA256SUMS", "-sigfile", "SHA256SUMS.sig"],
    { cwd: folder, encoding: "utf8", stdio: "pipe" },
  );

test("sha256sum and openssl verify a release, and refuse a changed one", async () => {
  const { folder, keyFile, publicFile } = await folderWithKeys();
  await writeFile(path.join(folder, "b.deb"), "two");
  await writeFile(path.join(folder, "a.deb"), "one");
  await writeChecksums(folder);
  await signChecksums(folder, await readReleaseKey(keyFile));

  expect(execFileSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: folder, encoding: "utf8" })).toBe(
    "a.deb: OK\nb.deb: OK\n",
  );
  expect(verify(folder, publicFile)).toContain("Signature Verified Successfully");
  await writeFile(path.join(folder, "a.deb"), "other");
  await writeChecksums(folder);
  expect(() => verify(folder, publicFile)).toThrow();
});

test("a key of another type is refused", async () => {
  const { keyFile } = await folderWithKeys();
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(keyFile, privateKey.export({ format: "pem", type: "pkcs8" }));
  await expect(readReleaseKey(keyFile)).rejects.toThrow("has a key of the type ec. Use an Ed25519 key.");
});
