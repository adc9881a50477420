/**
 * Public API of this feature: signing in as people of the example tenant, in demo mode only
 * (docs/decisions/0109-demo-sign-in.md).
 */
import type { DemoPerson, DemoSignIn, SignedIn, SignInContext } from "../../http/people.ts";
import { AppError } from "../../platform/app-error.ts";
import type { CommandRunner } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import { beginSession, type ConsoleSessions, readSignedInUser } from "../sessions/sessions.api.ts";
import { insertSignInAttempt } from "../sign-in/sign-in.api.ts";
import { readDemoTenantId } from "../tenants/tenants.api.ts";
import { findUsersByEmail } from "./demo-sign-in.queries.ts";

export interface ExamplePeopleOptions {
  readonly runner: CommandRunner;
  readonly sessions: ConsoleSessions;
  /** The addresses of the people. They exist only in a tenant that the demo has filled. */
  readonly emails: readonly string[];
}

export class ExamplePeople implements DemoSignIn {
  readonly #options: ExamplePeopleOptions;

  constructor(options: ExamplePeopleOptions) {
    this.#options = options;
  }

  async people(): Promise<readonly DemoPerson[]> {
    const { runner, emails } = this.#options;
    const tenantId = await readDemoTenantId(runner.database);
    if (tenantId === undefined) return [];
    return runner.database.snapshot({ kind: "tenant", tenantId }, async ({ query }) =>
      (await findUsersByEmail({ tenantId, query }, emails)).map(({ id, email, title }) => ({ id, email, title })),
    );
  }

  async signIn({ address, userAgent }: SignInContext, userId: string): Promise<SignedIn> {
    const { runner, sessions } = this.#options;
    const person = (await this.people()).find(({ id }) => id === userId);
    const tenantId = await readDemoTenantId(runner.database);
    if (person === undefined || tenantId === undefined) throw new AppError("sign_in_failed");
    const now = runner.clock.now();
    const { token } = await runner.database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
      const tx = { tenantId, query };
      const user = await readSignedInUser(tx, person.id);
      if (user?.status !== "active") throw new AppError("sign_in_failed");
      // The demo stands in for a passkey, which nobody has for these people.
      const attempt = { userId: user.id, method: "passkey", address } as const;
      await insertSignInAttempt(
        tx,
        { ...attempt, id: newId(), userName: user.email, userAgent: userAgent ?? "", reason: null },
        now,
      );
      return beginSession(tx, { ...attempt, userAgent, authTime: now, amr: [] }, now);
    });
    return { token, info: await sessions.describe(token, address) };
  }
}
