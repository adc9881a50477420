/** Pure functions that classify responses and errors. */
import type { Problem } from "./errors.ts";

export function isJson(response: Response): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(response.headers.get("content-type") ?? "");
}

/** The cause of fetch's "fetch failed". */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join(", ");
  return cause instanceof Error ? cause.message : String(cause);
}

/** The base URL that a redirect points to, in place of the configured one, without parts that can be secret. */
export function addressOf(location: string | null, url: string, called: string): string | undefined {
  if (location === null || location === "" || !URL.canParse(location, url + called)) return undefined;
  const { origin, pathname } = new URL(location, url + called);
  return origin + (pathname.endsWith(called) ? pathname.slice(0, -called.length) : pathname);
}

export function isProblem(value: unknown): value is Problem {
  const texts = ["type", "title", "detail", "instance", "code", "requestId"];
  if (!isObject(value) || typeof value.status !== "number") return false;
  if (!texts.every((name) => typeof value[name] === "string")) return false;
  return value.errors === undefined || (Array.isArray(value.errors) && value.errors.every(isProblemField));
}

function isProblemField(value: unknown): boolean {
  return isObject(value) && typeof value.pointer === "string" && typeof value.message === "string";
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
