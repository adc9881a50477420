/** The list of checksums of a release, and its signature. */
import { createHash, createPrivateKey, type KeyObject, sign } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

const list = "SHA256SUMS";
const signatureFile = `${list}.sig`;

/** Writes SHA256SUMS for all files of the folder, in the format of sha256sum. */
export async function writeChecksums(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== list && entry.name !== signatureFile);
  const names = files.map(({ name }) => name).sort();
  const lines: string[] = [];
  for (const name of names) {
    const hash = createHash("sha256").update(await readFile(path.join(folder, name)));
    lines.push(`${hash.digest("hex")}  ${name}\n`);
  }
  await writeFile(path.join(folder, list), lines.join(""));
}

/**
 * Reads the release key.
 *
 * @param file with the private key: PEM, as `openssl genpkey -algorithm ed25519` writes it
 */
export async function readReleaseKey(file: string): Promise<KeyObject> {
  const key = privateKeyIn(await readFile(file, "utf8"));
  if (key === undefined) throw new Error(`${file} has no private key in PEM format.`);
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new Error(`${file} has a key of the type ${key.asymmetricKeyType}. Use an Ed25519 key.`);
}

/** @returns undefined for other text. OpenSSL's messages do not name the problem. */
function privateKeyIn(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}

/** Signs SHA256SUMS with Ed25519. `openssl pkeyutl` verifies the signature; docs/releasing.md shows the command. */
export async function signChecksums(folder: string, privateKey: KeyObject): Promise<void> {
  const text = await readFile(path.join(folder, list));
  await writeFile(path.join(folder, signatureFile), sign(null, text, privateKey));
}
