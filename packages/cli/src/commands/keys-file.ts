import { accessSync, appendFileSync, constants } from "node:fs";
import path from "node:path";
import { CommandFailure } from "../failure.ts";

/** A file for the keys that the first start creates. A supervisor's log would show them to other readers. */
export class KeysFile {
  readonly path: string;

  constructor(file: string) {
    this.path = path.resolve(file);
  }

  /**
   * Checks the folder before keys exist, because they cannot be shown again.
   *
   * @throws CommandFailure if the folder cannot be written to
   */
  requireWritable(): void {
    const folder = path.dirname(this.path);
    try {
      accessSync(folder, constants.W_OK);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CommandFailure(`Cannot write to ${folder}: ${reason}.`, {
        details: ["Set --keys-file to a path in a folder that exists and that this user can write to."],
      });
    }
  }

  /** Appends lines. An existing file, of a first start that was interrupted, keeps its content. */
  append(lines: readonly string[]): void {
    appendFileSync(this.path, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
  }
}
