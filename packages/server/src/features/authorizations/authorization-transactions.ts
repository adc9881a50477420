/** The transactions of the authorization server, which runs outside the calls of the API. */
import type { AuthorizationContext } from "../../http/authorization-server.ts";
import type { Caller } from "../../http/caller.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import { empty } from "../../platform/outcome.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { PersonSessionRow } from "../sessions/sessions.api.ts";
import { insertSignInAttempt } from "../sign-in/sign-in.api.ts";

export class AuthorizationTransactions {
  readonly #runner: CommandRunner;

  constructor(runner: CommandRunner) {
    this.#runner = runner;
  }

  inTenant<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }

  /** Runs a recorded command as the person. */
  async command(
    { actor, tenantId = "" }: Pick<Caller, "actor" | "tenantId">,
    { requestId, address }: AuthorizationContext,
    operation: string,
    work: (tx: CommandTx) => Promise<void>,
  ): Promise<void> {
    const at = this.#runner.clock.now();
    const origin = { actor, operation, requestId, sourceAddress: address, at };
    const scope = { kind: "tenant", tenantId } as const;
    const command = { scope, tenantId, origin, idempotency: undefined, changesAccess: true };
    await runCommand(this.#runner, command, async (tx) => {
      await work(tx);
      return empty();
    });
  }

  /**
   * Adds an entry to the sign-in log.
   *
   * @param reason null for a success
   */
  logAttempt(
    tx: TenantTx,
    session: PersonSessionRow,
    email: string | null,
    { address, userAgent }: AuthorizationContext,
    reason: string | null,
  ): Promise<void> {
    const { user_id: userId, method, provider_id: providerId } = session;
    const attempt = { userId, userName: email, method, address, userAgent: userAgent ?? "", reason };
    const provider = providerId === null ? {} : { providerId };
    return insertSignInAttempt(tx, { ...attempt, ...provider, id: newId() }, this.#runner.clock.now());
  }
}
