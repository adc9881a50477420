/** Writes the signed apt repository with the packages of agents, which servers offer at /apt/. */
import { createHash, type KeyObject } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { runProgram } from "../run-program.ts";
import type { StagedTree } from "../staged-tree.ts";
import { armouredPublicKey, clearSigned, openPgpKey } from "./open-pgp.ts";

const userId = "Gatehouse packages";

interface RepositoryOptions {
  /** The packages, with the name of their architecture. */
  readonly packages: readonly { readonly file: string; readonly architecture: string }[];
  readonly version: string;
  /** Time of the release, in seconds since 1970. */
  readonly time: number;
  /** The Ed25519 release key. */
  readonly privateKey: KeyObject;
  readonly tree: StagedTree;
  /** Folder of the repository in the tree. */
  readonly folder: string;
}

export async function buildRepository(options: RepositoryOptions): Promise<void> {
  const { packages, version, time, privateKey, tree, folder } = options;
  const architectures = [...new Set(packages.map(({ architecture }) => architecture))].sort();
  const indexes: [name: string, content: Buffer][] = [];
  for (const architecture of architectures) {
    const paragraphs: string[] = [];
    for (const { file } of packages.filter((each) => each.architecture === architecture)) {
      const pooled = `pool/main/${path.basename(file)}`;
      await tree.copy(file, path.join(folder, pooled));
      paragraphs.push(await describePackage(file, pooled));
    }
    const content = Buffer.from(paragraphs.join("\n"));
    indexes.push([`main/binary-${architecture}/Packages`, content]);
    indexes.push([`main/binary-${architecture}/Packages.gz`, gzipSync(content, { level: 9 })]);
  }
  for (const [name, content] of indexes) await tree.write(path.join(folder, "dists/stable", name), content);
  const key = openPgpKey(privateKey);
  const release = releaseText({ version, time, architectures, indexes });
  await tree.write(path.join(folder, "dists/stable/InRelease"), clearSigned(key, release, time));
  await tree.write(path.join(folder, "gatehouse.asc"), armouredPublicKey(key, userId));
}

/** The paragraph of a package in `Packages`. */
async function describePackage(file: string, pooled: string): Promise<string> {
  const control = await runProgram("dpkg-deb", ["--field", file], { environment: { LC_ALL: "C.UTF-8" } });
  const hash = createHash("sha256").update(await readFile(file));
  const { size } = await stat(file);
  return `${control.trimEnd()}\nFilename: ${pooled}\nSize: ${size}\nSHA256: ${hash.digest("hex")}\n`;
}

interface ReleaseOptions extends Pick<RepositoryOptions, "version" | "time"> {
  readonly architectures: readonly string[];
  readonly indexes: readonly (readonly [name: string, content: Buffer])[];
}

function releaseText({ version, time, architectures, indexes }: ReleaseOptions): string {
  const sums = indexes.map(([name, content]) => {
    const hash = createHash("sha256").update(content).digest("hex");
    return ` ${hash} ${content.length} ${name}`;
  });
  const lines = [
    "Origin: Gatehouse",
    "Label: Gatehouse",
    "Suite: stable",
    "Codename: stable",
    `Version: ${version}`,
    `Date: ${new Date(time * 1000).toUTCString().replace("GMT", "UTC")}`,
    `Architectures: ${architectures.join(" ")}`,
    "Components: main",
    "Description: Agents of this version of Gatehouse",
    "SHA256:",
    ...sums,
  ];
  return `${lines.join("\n")}\n`;
}
