/** Snapshots of large tenants' models, in files. A restarted server loads a file, and reads only what changed since. */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import type { Work } from "@gatehouse/policy/work";
import { isUuid } from "../../../../platform/ids.ts";
import type { Log } from "../../../../platform/log.ts";
import { type ModelSnapshot, readSnapshotChunks, snapshotChunks } from "./model-snapshot.ts";
import { readSealedFile, SealedFileWriter } from "./sealed-file.ts";

export interface ModelSnapshotsOptions {
  /** Created when the first snapshot is stored. */
  readonly folder: string;
  readonly masterKey: Buffer;
  /** The number of the newest migration, because a migration may change facts. */
  readonly schemaVersion: number;
  /** The maximum total size of all files. */
  readonly maxBytes: number;
  /** The minimum number of users, devices and resources for which a snapshot is stored. */
  readonly fewestRecords?: number | undefined;
  readonly log: Log;
}

type Perform = <Result>(work: Work<Result>) => Promise<Result>;

/** Loading a smaller tenant from the database takes a second or two. */
const defaultFewestRecords = 20_000;
const ending = ".model";
/** An older snapshot is useless: the outbox was cleared long ago, or nobody uses the tenant. */
const maxAgeMs = 24 * 60 * 60_000;

export class ModelSnapshots {
  readonly #options: ModelSnapshotsOptions;
  readonly fewestRecords: number;

  constructor(options: ModelSnapshotsOptions) {
    this.#options = options;
    this.fewestRecords = options.fewestRecords ?? defaultFewestRecords;
  }

  /**
   * The snapshot of a tenant. Undefined if there is none, or if its file is not valid; such a file is deleted. Never
   * rejects: without a snapshot, the model can be loaded from the database.
   */
  async read(tenantId: string, perform: Perform): Promise<ModelSnapshot | undefined> {
    const { masterKey, log } = this.#options;
    const file = this.#pathOf(tenantId);
    try {
      const snapshot = await readSnapshotChunks(readSealedFile(file, masterKey, this.#subjectOf(tenantId)), perform);
      if (snapshot.state.tenantId === tenantId) {
        // `clean` must not delete a snapshot that is in use. If its time cannot be set, it is deleted after a day.
        const now = new Date();
        await utimes(file, now, now).catch(() => undefined);
        return snapshot;
      }
      log.warn({ tenantId }, "ignored the model snapshot of another tenant");
    } catch (error) {
      if (isMissing(error)) return undefined;
      log.warn({ tenantId, err: error }, "ignored an invalid model snapshot");
    }
    await this.delete(tenantId);
    return undefined;
  }

  /**
   * Replaces the snapshot of a tenant. Deletes the oldest snapshots of other tenants if all need too much space.
   *
   * @returns false if this snapshot alone needs too much space
   */
  async store(snapshot: ModelSnapshot): Promise<boolean> {
    const { folder, masterKey, maxBytes } = this.#options;
    const { tenantId } = snapshot.state;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = this.#pathOf(tenantId);
    // Processes in different containers can have the same id, so the id would not be unique in a shared folder.
    const unfinished = `${file}.${randomUUID()}`;
    try {
      const writer = await SealedFileWriter.create(unfinished, masterKey, this.#subjectOf(tenantId));
      try {
        for (const chunk of snapshotChunks(snapshot)) {
          await writer.add(chunk);
          if (writer.size > maxBytes) return false;
        }
      } finally {
        await writer.close();
      }
      await rename(unfinished, file);
    } finally {
      await this.#remove(unfinished);
    }
    await this.clean(file);
    return true;
  }

  /** Deletes the snapshot of a tenant. Never rejects: a failure is logged. */
  async delete(tenantId: string): Promise<void> {
    await this.#remove(this.#pathOf(tenantId));
  }

  /**
   * Deletes old files, and the oldest ones above the limit.
   *
   * @param kept the path of the newest file
   */
  async clean(kept?: string): Promise<void> {
    const { folder, maxBytes } = this.#options;
    const names = await readdir(folder).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const files = await Promise.all(
      names
        .filter((name) => name.includes(ending))
        .map(async (name) => {
          const file = path.join(folder, name);
          const { size, mtimeMs } = await stat(file).catch(() => ({ size: 0, mtimeMs: 0 }));
          return { file, size, mtimeMs };
        }),
    );
    let bytes = 0;
    for (const { file, size, mtimeMs } of files.sort((a, b) => b.mtimeMs - a.mtimeMs)) {
      bytes += size;
      const isExpendable = bytes > maxBytes || Date.now() - mtimeMs > maxAgeMs;
      if (file !== kept && isExpendable) await this.#remove(file);
    }
  }

  async #remove(file: string): Promise<void> {
    await rm(file, { force: true }).catch((error: unknown) =>
      this.#options.log.warn({ file, err: error }, "failed to delete a model snapshot"),
    );
  }

  #subjectOf(tenantId: string): string {
    return `model ${tenantId} ${this.#options.schemaVersion}`;
  }

  #pathOf(tenantId: string): string {
    if (!isUuid(tenantId)) throw new TypeError(`${tenantId} is not the id of a tenant`);
    return path.join(this.#options.folder, `${tenantId}${ending}`);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
