/** Pages of searches: opaque tokens that say where a page begins, and which request they belong to. */
import { createHash } from "node:crypto";
import { defaultSearchPage, maxSearchPage } from "@gatehouse/contract/operations/access.operations";
import canonicalize from "canonicalize";

/** Decisions that one page may take: a search that finds little gives short pages rather than slow ones. */
const mostDecisions = 20_000;

export interface PageRequest {
  readonly token?: string;
  readonly limit?: number;
}

/** Where a page begins, and how long it is. */
export interface PageStart {
  /** The last id that was looked at before; "" for the first page. */
  readonly after: string;
  readonly limit: number;
  /** Stands for everything else that was asked. */
  readonly digest: string;
}

/**
 * @param asked everything that has to be the same for the next page
 * @returns undefined for a token that is none, or of another request
 */
export function readPage({ token, limit }: PageRequest, asked: object): PageStart | undefined {
  // A number too large to read, 1e999, is infinite, which JSON cannot say: written and read again, it is null.
  const digest = createHash("sha256")
    .update(canonicalize(JSON.parse(JSON.stringify(asked))) ?? "")
    .digest("base64url")
    .slice(0, 22);
  const wanted = limit === undefined ? undefined : Math.min(limit, maxSearchPage);
  if (token === undefined || token === "") return { after: "", limit: wanted ?? defaultSearchPage, digest };
  const [after, of, size, ...rest] = Buffer.from(token, "base64url").toString("utf8").split(" ");
  const before = /^\d{1,4}$/.test(size ?? "") ? Number(size) : undefined;
  if (after === undefined || of !== digest || before === undefined || before > maxSearchPage || rest.length > 0) {
    return undefined;
  }
  if (wanted !== undefined && wanted !== before) return undefined;
  return { after, limit: before, digest };
}

/** Part of the results of a search. */
export interface FoundPage<Found> {
  readonly found: readonly Found[];
  /** Empty on the last page. */
  readonly nextToken: string;
}

/**
 * @param ids of everything that may be found, in order
 * @param find what is found under an id, if anything
 */
export function pageOf<Found>(
  ids: readonly string[],
  { after, limit, digest }: PageStart,
  find: (id: string) => Found | undefined,
): FoundPage<Found> {
  const found: Found[] = [];
  let last = after;
  let decisions = 0;
  for (const id of ids) {
    if (id <= after) continue;
    if (found.length >= limit || decisions === mostDecisions) {
      return { found, nextToken: Buffer.from(`${last} ${digest} ${limit}`).toString("base64url") };
    }
    const one = find(id);
    decisions += 1;
    last = id;
    if (one !== undefined) found.push(one);
  }
  return { found, nextToken: "" };
}
