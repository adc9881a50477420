/** Pages of search results. An opaque token holds the start of a page and a digest of its request. */
import { createHash } from "node:crypto";
import { defaultSearchPage, maxSearchPage } from "@gatehouse/contract/operations/access.operations";
import { sorting } from "@gatehouse/policy/sorting";
import { recordCost, type Work } from "@gatehouse/policy/work";
import canonicalize from "canonicalize";

/** The number of decisions per page. A search that finds little returns short pages instead of slow ones. */
const maxDecisions = 20_000;

/** The cost of a candidate besides its decision: its name and its facts are read from its record. */
const candidateCost = 2 * recordCost;

export interface PageRequest {
  readonly token?: string;
  readonly limit?: number;
}

/** The start and the size of a page. */
export interface PageStart {
  /** The last id of the previous page; "" for the first page. */
  readonly after: string;
  readonly limit: number;
  /** A digest of the rest of the request. */
  readonly digest: string;
}

/**
 * @param asked the part of the request that must be equal for all pages
 *
 * @returns undefined if the token is invalid or belongs to another request
 */
export function readPage({ token, limit }: PageRequest, asked: object): PageStart | undefined {
  // JSON cannot write infinity, which is what a number like 1e999 parses to. Writing and parsing turns it into null.
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

/** One page of search results. */
export interface FoundPage<Found> {
  readonly found: readonly Found[];
  /** Empty on the last page. */
  readonly nextToken: string;
}

/**
 * @param candidates the ids of all candidates, each once
 *
 * @param find the result for an id; undefined if it is not found
 */
export function* pageOf<Found>(
  candidates: Work<Iterable<string>>,
  { after, limit, digest }: PageStart,
  find: (id: string) => Work<Found | undefined>,
): Work<FoundPage<Found>> {
  const ids = yield* sorting(idsAfter(after, yield* candidates), maxDecisions + 1);
  const found: Found[] = [];
  let last = after;
  let decisions = 0;
  for (const id of ids) {
    if (found.length >= limit || decisions === maxDecisions) {
      return { found, nextToken: Buffer.from(`${last} ${digest} ${limit}`).toString("base64url") };
    }
    yield candidateCost;
    const one = yield* find(id);
    decisions += 1;
    last = id;
    if (one !== undefined) found.push(one);
  }
  return { found, nextToken: "" };
}

/** Ids of earlier pages are undefined, so that reading them counts. */
function* idsAfter(after: string, ids: Iterable<string>): Iterable<string | undefined> {
  for (const id of ids) yield id > after ? id : undefined;
}
