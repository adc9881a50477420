/** Requests as data, so that the console sends exactly what it previewed. */
import { api } from "../app/api.ts";

/** A request that has not been sent yet. */
export interface PlannedChange {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** With ids in place of parameters: `/tenants/groups/01980000-…`. */
  readonly path: string;
  readonly body?: unknown;
}

interface SendOptions {
  /** The version that the change applies to. If empty or absent, the change applies to any version. */
  readonly etag?: string | undefined;
  /** The reason for breaking access tests. */
  readonly overrideReason?: string | undefined;
}

type Send = (path: string, options: object) => Promise<unknown>;

/** Returns the response. */
export function sendChange({ method, path, body }: PlannedChange, { etag, overrideReason }: SendOptions = {}) {
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
