/** Lets the first tenant be filled with example records once, through the API, with a key that lives only that long. */
import { permissions } from "@gatehouse/contract/permissions";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { Origin } from "../../platform/change.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import { empty } from "../../platform/outcome.ts";
import { type IssuedApiKey, issueApiKey } from "../api-keys/api-keys.api.ts";
import { readFact, storeFact } from "./installation.queries.ts";
import { firstTenant } from "./tenants.queries.ts";

/** Should filling be interrupted, the key is of no use soon after. In milliseconds. */
const keyLifetimeMs = 10 * 60_000;

interface DemoTenant {
  readonly key: string;
  readonly keyId: string;
  /** Remembers that it was done, so that what an administrator deletes does not come back. */
  markFilled(): Promise<void>;
}

/** @returns undefined when it was filled before */
export async function openDemoTenant(runner: CommandRunner, now: Date): Promise<DemoTenant | undefined> {
  const [filled, tenantId] = await runner.database.snapshot({ kind: "operator" }, (tx) =>
    Promise.all([readFact(tx, "demo-tenant"), firstTenant(tx)]),
  );
  if (filled !== undefined || tenantId === undefined) return undefined;
  const origin: Origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: "fillDemoTenant",
    requestId: newId(),
    at: now,
  };
  const command = { scope: { kind: "operator", tenantId }, tenantId, origin, idempotency: undefined } as const;
  let issued: IssuedApiKey | undefined;
  await runCommand(runner, command, async (tx) => {
    issued = await issueApiKey(tx, grantedToSystem(), now, {
      name: "Example records",
      permissions,
      sourceIps: [],
      expiresAt: new Date(now.getTime() + keyLifetimeMs).toISOString(),
    });
    return empty();
  });
  if (issued === undefined) throw new Error("the key for the example records was not made");
  return {
    key: issued.key,
    keyId: issued.row.id,
    async markFilled() {
      await runCommand(runner, command, async (tx) => {
        await storeFact(tx, "demo-tenant", Buffer.from(tenantId));
        return empty();
      });
    },
  };
}
