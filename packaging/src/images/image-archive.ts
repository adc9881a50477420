/** Archives of images, without what buildah invents for each build. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { runProgram } from "../run-program.ts";

/** The parts of docker save's format that this module reads. */
interface Manifest {
  readonly Config: string;
  readonly RepoTags: readonly string[];
  readonly Layers: readonly string[];
}
interface ImageArchiveOptions {
  readonly file: string;
  readonly folder: string;
  readonly time: number;
  readonly compression: number;
}
interface Configuration {
  container?: string;
  container_config?: unknown;
  config: { Hostname?: string };
}

/**
 * Writes an image in the format of docker save, compressed with gzip. The configuration loses the random name of the
 * container that buildah built the image in.
 *
 * @param archive written by `buildah push docker-archive:…`
 * @param folder an empty folder for temporary files
 * @param time of all files, in seconds since 1970
 * @param compression level of gzip, 0 to 9
 */
export async function writeImageArchive(
  archive: string,
  { file, folder, time, compression }: ImageArchiveOptions,
): Promise<void> {
  const [source, target] = [path.join(folder, "source"), path.join(folder, "target")];
  await mkdir(source);
  await mkdir(target);
  await runProgram("tar", ["--extract", "--file", archive, "--directory", source]);
  const read = async (name: string): Promise<unknown> => JSON.parse(await readFile(path.join(source, name), "utf8"));
  const [manifest] = (await read("manifest.json")) as Manifest[]; // docker save's format
  if (manifest === undefined) throw new Error("buildah wrote an archive without an image.");
  const configuration = (await read(manifest.Config)) as Configuration; // docker save's format
  delete configuration.container;
  delete configuration.container_config;
  delete configuration.config.Hostname;
  const text = JSON.stringify(configuration);
  const name = `${createHash("sha256").update(text).digest("hex")}.json`;
  await writeFile(path.join(target, name), text, { mode: 0o644 });
  await writeFile(path.join(target, "manifest.json"), JSON.stringify([{ ...manifest, Config: name }]), { mode: 0o644 });
  for (const layer of manifest.Layers) await rename(path.join(source, layer), path.join(target, layer));
  const sorted = path.join(folder, "sorted.tar");
  await runProgram("tar", [
    ...["--create", "--file", sorted, "--directory", target, "--format=ustar", "--sort=name", `--mtime=@${time}`],
    ...["--owner=0", "--group=0", "--numeric-owner", "--mode=0644", "manifest.json", name, ...manifest.Layers],
  ]);
  await pipeline(createReadStream(sorted), createGzip({ level: compression }), createWriteStream(file));
}
