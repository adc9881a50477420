import { isSame } from "./is-same.ts";

/**
 * The body without the named fields that are unchanged: sending one of these fields requires a recent authentication
 * (docs/decisions/0279).
 *
 * @param before the body with the stored values
 */
export function omitUnchanged<B extends object>(body: B, before: B, names: readonly (keyof B & string)[]): Partial<B> {
  const omitted: ReadonlySet<string> = new Set(names.filter((name) => isSame(body[name], before[name])));
  return Object.fromEntries(Object.entries(body).filter(([name]) => !omitted.has(name))) as Partial<B>;
}
