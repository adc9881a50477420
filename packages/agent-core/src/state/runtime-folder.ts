import { mkdir, stat } from "node:fs/promises";
import { isLocked, lockFolder } from "./folder-lock.ts";
import { octal } from "./private-file.ts";

/**
 * A folder of one agent for copies of its state, on a file system in memory. The copies outlive the agent, but not the
 * machine. Neither a full nor a read-only disk affects them.
 */
export class RuntimeFolder {
  readonly path: string;
  readonly #isAlive: (() => Promise<void>) | undefined;
  #release: (() => void) | undefined;

  /** @param isAlive resolves once the agent has performed an operation */
  constructor(path: string, isAlive?: () => Promise<void>) {
    this.path = path;
    this.#isAlive = isAlive;
  }

  /**
   * Creates the folder if it is missing. Must be called before each access, because the folder may have been deleted
   * since the last access.
   *
   * @throws Error if the folder belongs to another user, or others may write to it
   */
  async check(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    const { mode, uid } = await stat(this.path);
    if (uid !== 0 && uid !== process.getuid?.()) {
      throw new Error(`The runtime folder ${this.path} belongs to another user (${uid}). Delete it.`);
    }
    if ((mode & 0o022) !== 0) {
      throw new Error(
        `Other users can write to the runtime folder ${this.path} (mode ${octal(mode)}). Remove the permission: chmod go-w ${this.path}`,
      );
    }
  }

  /**
   * Checks the folder, and locks it until `close`. Must be called before each change.
   *
   * @throws Error if the folder belongs to another user or agent, or others may write to it
   */
  async open(): Promise<void> {
    await this.check();
    // A folder that was deleted and created again has no lock.
    if (!(await isLocked(this.path))) this.close();
    this.#release ??= await lockFolder(this.path, this.#isAlive, "runtime folder");
  }

  close(): void {
    this.#release?.();
    this.#release = undefined;
  }
}
