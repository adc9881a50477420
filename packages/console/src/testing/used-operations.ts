/** Finds the operations of the API that the sources of the console use. */
import type { Operation } from "@gatehouse/contract/operation";

/** How a source calls a method, through the client, a planned change or a shared part. */
const evidence: Readonly<Record<Operation["method"], RegExp>> = {
  GET: /\bapi\.get\(|\bpaged\(|\bwhole\(|\buseRecord\(|\breadRecord\(|\bhref=|EventSource\(|\bpath: "\/tenants/,
  POST: /\bapi\.post(Many)?\(|"POST"/,
  PUT: /\bapi\.put\(|"PUT"/,
  PATCH: /\bapi\.patch\(|"PATCH"/,
  DELETE: /\bapi\.delete\(|"DELETE"|<DeleteRecord/,
};

/**
 * Whether a source file uses the operation: it calls the method, and contains the path. Templates with an id in place
 * of a parameter count, and so do a collection's path and the last segment apart from each other.
 */
export function isUsedIn(source: string, { method, path }: Pick<Operation, "method" | "path">): boolean {
  if (!evidence[method].test(source)) return false;
  const [collection = "", ...rest] = path.split(/\/\{[^}]+\}/);
  const verb = rest.at(-1) ?? "";
  const hasRecord = path.includes("{");
  if (verb === "") {
    const mark = hasRecord ? "(?=/[{$]|/\\$\\{)" : '(?=["`?])';
    return new RegExp(`${escaped(collection)}${mark}`).test(source) || (hasRecord && isNested(source, path));
  }
  const lastSegment = verb.slice(verb.lastIndexOf("/") + 1);
  return source.includes(`${collection}/`) && new RegExp(`["/]${escaped(lastSegment)}["\`?]`).test(source);
}

/** Whether a path with several parameters is written out. */
function isNested(source: string, path: string): boolean {
  return source.includes(`"${path}"`);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
