/** Builds one Debian package from a staged tree. */
import { createHash } from "node:crypto";
import { lstat, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "../run-program.ts";
import { StagedTree } from "../staged-tree.ts";
import { wrapText } from "../wrap-text.ts";

export interface DebControl {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly section: string;
  readonly depends: readonly string[];
  readonly recommends: readonly string[];
  readonly summary: string;
  readonly description: readonly string[];
}

export interface DebOptions {
  readonly control: DebControl;
  readonly scripts: Readonly<Record<string, string>>;
  /** Time of all files, in seconds since 1970. */
  readonly time: number;
  /** Level of xz, 0 to 9. */
  readonly compression: number;
  /** Folder to write the package to. */
  readonly output: string;
}

/** Also in the changelog of each package, in which Debian requires an address. */
export const maintainer = "Gatehouse maintainers <maintainers@gatehouse.invalid>";

/** @returns the path of the package */
export async function buildDeb(tree: StagedTree, { control, scripts, time, compression, output }: DebOptions) {
  const { name, version, architecture } = control;
  const files = await tree.files();
  const sums: string[] = [];
  let bytes = 0;
  for (const file of files) {
    const source = path.join(tree.root, file);
    const { size } = await lstat(source);
    bytes += Math.ceil(size / 1024) * 1024;
    if ((await lstat(source)).isFile()) {
      sums.push(
        `${createHash("md5")
          .update(await readFile(source))
          .digest("hex")}  ${file}\n`,
      );
    }
  }
  const information = new StagedTree(path.join(tree.root, "DEBIAN"));
  await information.write("control", controlFile(control, Math.ceil(bytes / 1024)));
  await information.write("md5sums", sums.join(""));
  const settings = files.filter((file) => file.startsWith("etc/"));
  if (settings.length > 0) await information.write("conffiles", settings.map((file) => `/${file}\n`).join(""));
  for (const [script, text] of Object.entries(scripts)) await information.write(script, text, 0o755);
  await tree.finish(time);
  await mkdir(output, { recursive: true });
  const file = path.join(output, `${name}_${version}_${architecture}.deb`);
  const packing = ["-Zxz", `-z${compression}`, "--uniform-compression", "--threads-max=2"];
  await runProgram("dpkg-deb", ["--root-owner-group", ...packing, "--build", tree.root, file], {
    environment: { SOURCE_DATE_EPOCH: String(time), LC_ALL: "C.UTF-8" },
  });
  return file;
}

function controlFile(control: DebControl, installedSize: number): string {
  const { name, version, architecture, section, depends, recommends, summary, description } = control;
  const fields = [
    `Package: ${name}`,
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${maintainer}`,
    `Installed-Size: ${installedSize}`,
    ...(depends.length === 0 ? [] : [`Depends: ${depends.join(", ")}`]),
    ...(recommends.length === 0 ? [] : [`Recommends: ${recommends.join(", ")}`]),
    `Section: ${section}`,
    "Priority: optional",
    `Description: ${summary}`,
    description
      .map((paragraph) => wrapText(paragraph, 77).map((line) => ` ${line}`))
      .map((lines) => lines.join("\n"))
      .join("\n .\n"),
  ];
  return `${fields.join("\n")}\n`;
}
