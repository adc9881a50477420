/** A tree of files that becomes an artefact. Modes and times do not depend on the machine that builds it. */
import { chmod, copyFile, lutimes, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";

export class StagedTree {
  readonly root: string;

  /** @param root an empty folder */
  constructor(root: string) {
    this.root = root;
  }

  async write(file: string, content: string | Buffer, mode = 0o644): Promise<void> {
    const target = await this.#prepare(file);
    await writeFile(target, content);
    await chmod(target, mode);
  }

  /** Writes a file as `.gz`, without a time in its header. */
  async writeCompressed(file: string, content: string): Promise<void> {
    await this.write(`${file}.gz`, gzipSync(content, { level: 9 }));
  }

  async copy(source: string, file: string, mode = 0o644): Promise<void> {
    const target = await this.#prepare(file);
    await copyFile(source, target);
    await chmod(target, mode);
  }

  async link(file: string, target: string): Promise<void> {
    await symlink(target, await this.#prepare(file));
  }

  /** Gives all folders the mode 0755, and everything the same time. @param time in seconds since 1970 */
  async finish(time: number): Promise<void> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const file = path.join(entry.parentPath, entry.name);
      if (entry.isDirectory()) await chmod(file, 0o755);
      await lutimes(file, time, time);
    }
    await chmod(this.root, 0o755);
    await lutimes(this.root, time, time);
  }

  /** The files and links, relative to the root and sorted. */
  async files(): Promise<readonly string[]> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.relative(this.root, path.join(entry.parentPath, entry.name)))
      .sort();
  }

  async #prepare(file: string): Promise<string> {
    const target = path.join(this.root, file);
    await mkdir(path.dirname(target), { recursive: true });
    return target;
  }
}
