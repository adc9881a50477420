/** Requests as data: what is previewed is then sent, and nothing else. */
import { api } from "../app/api.ts";

/** A request, as it would be sent. */
export interface PlannedChange {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** With the ids in it: `/tenants/groups/01980000-…`. */
  readonly path: string;
  readonly body?: unknown;
}

interface SendOptions {
  /** Of the version that the change is meant for; empty or absent: of any. */
  readonly etag?: string | undefined;
  /** Why access tests may be broken. */
  readonly overrideReason?: string | undefined;
}

type Send = (path: string, options: object) => Promise<unknown>;

/** @returns what it is answered with */
export function sendChange({ method, path, body }: PlannedChange, { etag, overrideReason }: SendOptions = {}) {
  // The client's types are for paths with braces in them; the previews and the API itself check these.
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
