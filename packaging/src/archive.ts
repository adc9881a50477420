/** Writes a staged tree as a tar archive that is compressed with gzip, the same bytes on each machine. */
import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { runProgram } from "./run-program.ts";
import type { StagedTree } from "./staged-tree.ts";

/**
 * @param file to write
 * @param time of all files, in seconds since 1970
 */
export async function writeArchive(tree: StagedTree, file: string, time: number): Promise<void> {
  await tree.finish(time);
  const unpacked = `${file}.unfinished.tar`;
  await runProgram("tar", [
    ...["--create", "--file", unpacked, "--directory", tree.root, "--format=ustar", "--sort=name", `--mtime=@${time}`],
    ...["--owner=0", "--group=0", "--numeric-owner", ...(await readdir(tree.root)).sort()],
  ]);
  await pipeline(createReadStream(unpacked), createGzip({ level: 9 }), createWriteStream(file));
  await rm(unpacked);
}
