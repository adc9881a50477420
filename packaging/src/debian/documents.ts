/** Documents that every Debian package has: copyright, changelog, and the licences of what it includes. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { IncludedPackage } from "../application.ts";
import type { StagedTree } from "../staged-tree.ts";
import { maintainer } from "./build-deb.ts";

interface DocumentOptions {
  readonly name: string;
  readonly version: string;
  /** Time of the release, in seconds since 1970. */
  readonly time: number;
  readonly workspace: string;
  /** Packages of the workspace. */
  readonly included: readonly IncludedPackage[];
  /** Programs that are included as they were released, with the file of their licence. */
  readonly programs: readonly { readonly name: string; readonly version: string; readonly licenseFile: string }[];
}

export async function writeDocuments(tree: StagedTree, options: DocumentOptions): Promise<void> {
  const { name, version, time, workspace, included, programs } = options;
  const folder = `usr/share/doc/${name}`;
  await tree.write(`${folder}/copyright`, copyright);
  const date = new Date(time * 1000).toUTCString().replace("GMT", "+0000");
  await tree.writeCompressed(
    `${folder}/changelog`,
    `${name} (${version}) stable; urgency=medium\n\n  * Release ${version}. CHANGELOG.md lists the changes.\n\n -- ${maintainer}  ${date}\n`,
  );
  await tree.writeCompressed(`${folder}/CHANGELOG.md`, await readFile(path.join(workspace, "CHANGELOG.md"), "utf8"));
  const texts: string[] = [];
  for (const program of programs) {
    texts.push(licenseText(`${program.name} ${program.version}`, "", await readFile(program.licenseFile, "utf8")));
  }
  for (const each of included) {
    const text = await licenseIn(path.join(workspace, each.folder));
    texts.push(licenseText(`${each.name} ${each.version}`, `License: ${each.license}\n`, text));
  }
  if (texts.length > 0) await tree.writeCompressed(`${folder}/THIRD-PARTY-LICENSES`, texts.join("\n"));
}

function licenseText(title: string, license: string, text: string): string {
  return `${"=".repeat(78)}\n${title}\n${license}\n${text.trim()}\n`;
}

async function licenseIn(folder: string): Promise<string> {
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  const texts: string[] = [];
  for (const file of files) {
    const text = await readFile(path.join(folder, file), "utf8").catch(() => "");
    texts.push(text);
  }
  return texts.join("\n") || "The package contains no licence text.";
}

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Gatehouse
Comment: THIRD-PARTY-LICENSES.gz in this folder has the licences of the libraries
 and programs that this package includes.

Files: *
Copyright: 2026 The Gatehouse authors
License: Apache-2.0

License: Apache-2.0
 On Debian systems, the text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
`;
