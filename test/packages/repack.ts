/** Packages of a version that does not exist, for upgrades: the files of this version under another number. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { must } from "./debian-root.ts";

/** Copies a package under another version. */
export async function repack(file: string, version: string, target: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-repack-"));
  await must("dpkg-deb", ["--raw-extract", file, folder]);
  const control = path.join(folder, "DEBIAN/control");
  await writeFile(control, (await readFile(control, "utf8")).replace(/^Version: .*$/m, `Version: ${version}`));
  await must("dpkg-deb", ["--root-owner-group", "-Zxz", "-z0", "--build", folder, target]);
  await rm(folder, { recursive: true });
}
