/** Commands that commit only while the caller's session or API key is valid (docs/decisions/0258). */
import { mayBeDangerous, type Operation } from "@gatehouse/contract/operation";
import type { Actor } from "./change.ts";
import type { Outcome } from "./outcome.ts";
import { lockGeneration } from "./tenancy/generation.queries.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";

/**
 * Whether the session or key must be valid when the command commits. A request is authenticated before its body
 * arrives, and can wait for locks. What shuts out a thief must also stop requests that could give the thief another
 * way in. Deletions give none, and can end the session or delete the key themselves.
 */
export function needsValidCredential(
  operation: Operation,
  { body, actor, session }: { readonly body: unknown; readonly actor: Actor; readonly session?: object | undefined },
): boolean {
  const hasCredential = session !== undefined || actor.type === "api-key";
  return hasCredential && mayBeDangerous(operation, body) && operation.method !== "DELETE";
}

/**
 * Adds the check of the credential to the work of a command.
 *
 * @param check.require refuses a caller whose session was ended, or whose key was deleted or has expired
 * @param check.isAlone whether no other command of the tenant runs; the work may then end the session
 * @param check.endsOwnKey whether the work, once done, has ended the key and checked it under the lock of its row
 */
export function withValidCredential(
  work: (tx: CommandTx) => Promise<Outcome>,
  check: {
    readonly require: (tx: TenantTx) => Promise<void>;
    readonly isAlone: boolean;
    readonly endsOwnKey: () => boolean;
  },
): (tx: CommandTx) => Promise<Outcome> {
  return async (tx) => {
    if (check.isAlone) {
      await check.require(tx);
      return work(tx);
    }
    const outcome = await work(tx);
    if (check.endsOwnKey()) return outcome;
    // Commands commit in the order of this lock: what has ended the credential is visible now, or comes later. A lock
    // on the credential could keep its owner from ending it.
    await lockGeneration(tx);
    await check.require(tx);
    return outcome;
  };
}
