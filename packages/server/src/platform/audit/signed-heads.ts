/**
 * The last signed head of each record, in memory and in a file outside the database. Only this copy shows that the
 * database lost or replaced what was signed.
 */
import { open, readFile } from "node:fs/promises";
import { systemErrorCode } from "@gatehouse/embedded-postgres";
import { replaceFile } from "../durable-file.ts";
import { nilId } from "../ids.ts";
import type { Log } from "../log.ts";
import type { ChainPosition } from "./signatures.ts";

/** The id under which the operator's record is signed. */
export const operatorRecord = nilId;

/** The name of the file in the data folder. Lines of JSON; the last line of a record counts. */
export const headsFileName = "audit-heads.ndjson";

/** A head, with the time at which this server learned that it is signed, in ISO 8601. */
export interface SignedHead extends ChainPosition {
  readonly signedAt: string;
}

/** A line of the file. Position 0 forgets the record: its tenant was deleted. */
export interface HeadLine extends SignedHead {
  readonly tenantId: string;
}

/** @returns undefined if the text is not a line of the file */
export function parseHeadLine(text: string): HeadLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isHeadLine(value) ? value : undefined;
}

function isHeadLine(value: unknown): value is HeadLine {
  if (typeof value !== "object" || value === null) return false;
  const { tenantId, position, generation, hash, signedAt }: Partial<Record<string, unknown>> = { ...value };
  return (
    typeof tenantId === "string" &&
    Number.isSafeInteger(position) &&
    Number.isSafeInteger(generation) &&
    typeof hash === "string" &&
    /^[0-9a-f]{64}$/.test(hash) &&
    typeof signedAt === "string"
  );
}

export class SignedHeads {
  readonly #heads: Map<string, SignedHead>;
  readonly #file: string | undefined;
  readonly #log: Log;

  private constructor(heads: Map<string, SignedHead>, file: string | undefined, log: Log) {
    this.#heads = heads;
    this.#file = file;
    this.#log = log;
  }

  /**
   * Reads the file, and rewrites it with one line for each record.
   *
   * @param file undefined to keep the heads in memory only
   */
  static async open(file: string | undefined, log: Log): Promise<SignedHeads> {
    const read = file === undefined ? new Map<string, SignedHead>() : await readHeads(file);
    const heads = new SignedHeads(read, file, log);
    await heads.#store((path) => replaceFile(path, textOf(heads.all)));
    return heads;
  }

  get(tenantId: string): SignedHead | undefined {
    return this.#heads.get(tenantId);
  }

  get all(): readonly HeadLine[] {
    return [...this.#heads].map(([tenantId, place]) => ({ tenantId, ...place }));
  }

  /** Records signed or accepted heads. A failure to write the file is logged: memory still has them. */
  async record(lines: readonly HeadLine[]): Promise<void> {
    if (lines.length === 0) return;
    for (const { tenantId, ...head } of lines) {
      if (head.position === 0) this.#heads.delete(tenantId);
      else this.#heads.set(tenantId, head);
    }
    await this.#store((path) => append(path, textOf(lines)));
  }

  async #store(write: (path: string) => Promise<void>): Promise<void> {
    const path = this.#file;
    if (path === undefined) return;
    try {
      await write(path);
    } catch (err) {
      this.#log.warn({ err, path }, "failed to store signed audit heads; they are kept in memory only");
    }
  }
}

function textOf(lines: readonly HeadLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

async function append(path: string, text: string): Promise<void> {
  const file = await open(path, "a", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Reads the heads of a file, in which a crash may have left an incomplete last line. */
export async function readHeads(file: string): Promise<Map<string, SignedHead>> {
  const heads = new Map<string, SignedHead>();
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (systemErrorCode(error) === "ENOENT") return "";
    throw error;
  });
  for (const line of text.split("\n")) {
    const head = parseHeadLine(line);
    if (head === undefined) continue;
    const { tenantId, ...signed } = head;
    if (signed.position === 0) heads.delete(tenantId);
    else heads.set(tenantId, signed);
  }
  return heads;
}
