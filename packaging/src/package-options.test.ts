import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readPackageOptions } from "./package-options.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" });

describe("the options of npm run package", () => {
  let folder: string;
  let workspace: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "gatehouse-options-"));
    workspace = path.join(folder, "checkout");
    await mkdir(workspace);
    const bin = path.join(folder, "bin");
    await mkdir(bin);
    for (const name of ["dpkg-deb", "npm", "tar"]) await writeFile(path.join(bin, name), "", { mode: 0o755 });
    vi.stubEnv("PATH", bin);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });

  const write = async (file: string, content: string | Buffer) => {
    await writeFile(path.join(folder, file), content);
    return path.join(folder, file);
  };

  test("name everything by default", async () => {
    expect(await readPackageOptions([], workspace)).toMatchObject({
      machines: [{ name: "amd64" }, { name: "arm64" }],
      key: undefined,
      images: false,
      output: path.join(workspace, "dist/packages"),
      compression: 6,
    });
    expect(await readPackageOptions(["--help"], workspace)).toBe("help");
  });

  test("read a key outside the checkout", async () => {
    const key = await write("release-key.pem", pem(privateKey));
    const options = await readPackageOptions(["--key", key], workspace);
    expect(options).not.toBe("help");
    expect(options === "help" ? undefined : options.key?.asymmetricKeyType).toBe("ed25519");
  });

  test("refuse a key inside the checkout, also through a link", async () => {
    const key = await write("checkout/release-key.pem", pem(privateKey));
    await expect(readPackageOptions(["--key", key], workspace)).rejects.toThrow("is inside the checkout. Move it");
    const link = path.join(folder, "link.pem");
    await symlink(key, link);
    await expect(readPackageOptions(["--key", link], workspace)).rejects.toThrow("is inside the checkout. Move it");
  });

  test("refuse keys that cannot sign", async () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const refused = (file: string) => expect(readPackageOptions(["--key", file], workspace)).rejects;
    await refused(path.join(folder, "none.pem")).toThrow("ENOENT");
    await refused(await write("rsa.pem", pem(rsa))).toThrow("has a key of the type rsa");
    await refused(await write("text.pem", "text")).toThrow("text.pem has no private key in PEM format");
  });

  test.each([
    [["--package", "other"], "--package other is unknown"],
    [["--architecture", "riscv64"], "--architecture riscv64 is unknown"],
    [["--compression", "10"], "--compression must be 0 to 9, not 10"],
    [["--sign"], "Unknown option '--sign'"],
    [["--images"], "mmdebstrap is missing"],
  ])("refuse %j", async (args, message) => {
    await expect(readPackageOptions(args, workspace)).rejects.toThrow(message);
  });
});
