import {
  accessSync,
  appendFileSync,
  constants,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { CommandFailure } from "../failure.ts";

/** Stands for the public URL in lines that are stored before the server knows its port. */
export const publicUrlPlaceholder = "{publicUrl}";

/**
 * A file for the keys that the first start creates. A supervisor's log would show them to other readers. The file
 * appears when it is complete, so that nobody reads and deletes a part of it. Until then, its name ends in
 * `.unfinished`.
 */
export class KeysFile {
  readonly path: string;
  readonly #unfinished: string;

  constructor(file: string) {
    this.path = path.resolve(file);
    this.#unfinished = `${this.path}.unfinished`;
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

  /** Stores lines before the start is complete. Keys and links of an interrupted start remain. */
  append(lines: readonly string[]): void {
    appendFileSync(this.#unfinished, textOf(lines), { mode: 0o600 });
  }

  /**
   * Makes the appended lines visible, including those of an interrupted start. An existing file keeps its content.
   *
   * @param publicUrl replaces `publicUrlPlaceholder` in the lines
   * @param more lines that follow the appended ones
   * @returns whether there were appended lines
   */
  complete(publicUrl: string, more: readonly string[]): boolean {
    if (!existsSync(this.#unfinished)) return false;
    const keys = readFileSync(this.#unfinished, "utf8").replaceAll(publicUrlPlaceholder, () => publicUrl);
    const before = existsSync(this.path) ? readFileSync(this.path, "utf8") : "";
    // An earlier start may have ended before it removed the unfinished file.
    if (!before.includes(keys)) this.#replace(before + keys + textOf(more));
    rmSync(this.#unfinished);
    return true;
  }

  /** Replaces the file at once, so that nobody reads a part of it. Its mode may have let others read it. */
  #replace(content: string): void {
    const draft = `${this.path}.draft`;
    rmSync(draft, { force: true });
    writeFileSync(draft, content, { mode: 0o600, flag: "wx" });
    renameSync(draft, this.path);
  }
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
