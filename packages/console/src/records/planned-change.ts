/** Requests as data, so that the console sends exactly what it previewed. */
import { api } from "../app/api.ts";

/** A request that has not been sent yet. */
export interface PlannedChange {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** With ids in place of parameters: `/tenants/groups/01980000-…`. */
  readonly path: string;
  readonly body?: unknown;
  /** The name of the created record in later changes of the same set, which refer to it as `@name`. */
  readonly as?: string;
  /** The version of the record that the change applies to. Only in sets of several changes. */
  readonly ifMatch?: string;
}

const conditional = /^\/tenants\/(?:admission-rules|policies)\/[^/]+$/;

/** Whether the changes can affect the times or conditions of access that somebody keeps. */
export function changesConditions(changes: readonly PlannedChange[]): boolean {
  return changes.some(({ method, path }) => (method === "PUT" || method === "PATCH") && conditional.test(path));
}

/** Whether the changes invite users, who have no access until they accept. */
export function invitesUsers(changes: readonly PlannedChange[]): boolean {
  return changes.some(({ method, path }) => method === "POST" && path === "/tenants/users");
}

interface SendOptions {
  /** The version that the first change applies to. If empty or absent, the change applies to any version. */
  readonly etag?: string | undefined;
  /** The reason for breaking access tests. */
  readonly overrideReason?: string | undefined;
}

type Send = (path: string, options: object) => Promise<unknown>;

/**
 * Sends one change as its own request, and several as one change set: all of them are made, or none.
 *
 * @returns the last response that has a body
 */
export async function sendChanges(changes: readonly PlannedChange[], options: SendOptions = {}): Promise<unknown> {
  const [first, ...others] = changes;
  if (first === undefined) return undefined;
  if (others.length === 0) return sendChange(first, options);
  const { etag, overrideReason } = options;
  const result = await api.post("/tenants/changes", {
    body: { changes: [etag === undefined || etag === "" ? first : { ...first, ifMatch: etag }, ...others] },
    ...(overrideReason === undefined ? {} : { overrideReason }),
  });
  return result.changes.findLast(({ body }) => body !== undefined)?.body;
}

function sendChange({ method, path, body }: PlannedChange, { etag, overrideReason }: SendOptions): Promise<unknown> {
  // The client's types require path templates. The preview and the API check these requests.
  const send = {
    POST: api.post as unknown as Send,
    PUT: api.put as unknown as Send,
    PATCH: api.patch as unknown as Send,
    DELETE: api.delete as unknown as Send,
  }[method];
  return send(path, {
    ...(body === undefined ? {} : { body }),
    ...(etag === undefined || etag === "" ? {} : { ifMatch: etag }),
    ...(overrideReason === undefined ? {} : { overrideReason }),
  });
}
