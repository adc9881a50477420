/** Reads the file of --expect-heads: the JSON of an earlier verification, or the lines of the data folder's file. */
import { readFile } from "node:fs/promises";
import { parseHeadLine } from "@gatehouse/server/platform/audit/signed-heads";
import type { ExpectedPlace } from "@gatehouse/server/verify-audit";
import { CommandFailure } from "../failure.ts";

/** @throws CommandFailure if the file cannot be read, or contains anything else than heads */
export async function readExpectedHeads(path: string): Promise<readonly ExpectedPlace[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new CommandFailure(`Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}.`);
  });
  const heads = text.trimStart().startsWith("[") ? headsOfReports(text) : headsOfLines(text);
  if (heads === undefined || heads.length === 0) {
    throw new CommandFailure(
      `${path} does not contain heads. Use the output of gatehouse audit verify --json, or a copy of audit-heads.ndjson.`,
    );
  }
  return heads;
}

function headsOfLines(text: string): readonly ExpectedPlace[] | undefined {
  const heads = new Map<string, ExpectedPlace>();
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const head = parseHeadLine(line);
    if (head === undefined) return undefined;
    const { tenantId, position, hash, signedAt } = head;
    if (position === 0) heads.delete(tenantId);
    else heads.set(tenantId, { tenantId, position, hash, signedThrough: position, signedAt });
  }
  return [...heads.values()];
}

function headsOfReports(text: string): readonly ExpectedPlace[] | undefined {
  let reports: unknown;
  try {
    reports = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(reports)) return undefined;
  const heads = reports.map(headOfReport);
  return heads.every((head) => head !== undefined) ? heads : undefined;
}

function headOfReport(report: unknown): ExpectedPlace | undefined {
  if (!isObject(report) || !isObject(report.head)) return undefined;
  const { tenantId, signedThrough } = report;
  const { position, hash } = report.head;
  if (typeof tenantId !== "string" || typeof hash !== "string") return undefined;
  if (typeof position !== "number" || typeof signedThrough !== "number") return undefined;
  return { tenantId, position, hash, signedThrough };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
