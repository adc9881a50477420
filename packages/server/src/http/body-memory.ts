/** Limits the memory that the bodies of a tenant's requests use: from the headers of a request to its response. */
import type { FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** The total size of a tenant's bodies on a replica, in MiB: four of the largest documents. */
const mostMebibytes = 128;

export class BodyMemory {
  /** The sizes of bodies in bytes, for each tenant that has any. */
  readonly #held = new Map<string, number>();

  /**
   * Counts a body before it is read.
   *
   * @returns ends the count; may be called more than once
   * @throws AppError rate_limited
   */
  hold(tenantId: string, bytes: number): () => void {
    const held = this.#held.get(tenantId) ?? 0;
    if (held + bytes > mostMebibytes * 1_048_576) throw tooMuchHeld();
    this.#held.set(tenantId, held + bytes);
    let isHeld = true;
    return () => {
      if (isHeld) this.#release(tenantId, bytes);
      isHeld = false;
    };
  }

  #release(tenantId: string, bytes: number): void {
    const held = (this.#held.get(tenantId) ?? 0) - bytes;
    if (held > 0) this.#held.set(tenantId, held);
    else this.#held.delete(tenantId);
  }
}

/** The size of a request's body, in bytes. A body of unknown length can be as long as the limit. */
export function bodyLengthOf({ headers, raw }: FastifyRequest, limit: number): number {
  if (headers["transfer-encoding"] !== undefined) return limit;
  if (headers["content-length"] !== undefined) return Number(headers["content-length"]);
  // HTTP/1.1 has no other way to send a body. HTTP/2 needs no header for one.
  const { stream } = raw as { readonly stream?: { readonly endAfterHeaders?: boolean } };
  return stream?.endAfterHeaders === false ? limit : 0;
}

function tooMuchHeld(): AppError {
  return new AppError("rate_limited", {
    detail: `The bodies of this tenant's requests would exceed ${mostMebibytes} MiB in total. Send large documents one at a time.`,
    retryAfterSeconds: 2,
  });
}
