/** Access for filling the first tenant with example records once, through the API, with a temporary key. */
import { permissions } from "@gatehouse/contract/permissions";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { Origin } from "../../platform/change.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { empty } from "../../platform/outcome.ts";
import { type IssuedApiKey, issueApiKey } from "../api-keys/api-keys.api.ts";
import { readFact, storeFact } from "./installation.queries.ts";
import { firstTenant } from "./tenants.queries.ts";

/** The validity of the key, in milliseconds. It limits the key if filling is interrupted. */
const keyLifetimeMs = 10 * 60_000;

interface DemoTenant {
  readonly key: string;
  readonly keyId: string;
  /** Stores that the tenant was filled, so that deleted examples do not come back. */
  markFilled(): Promise<void>;
}

/** The tenant that was filled with example records; undefined if none was. */
export async function readDemoTenantId(database: Database): Promise<string | undefined> {
  const tenantId = await database.snapshot({ kind: "operator" }, (tx) => readFact(tx, "demo-tenant"));
  return tenantId?.toString();
}

/** @returns undefined if the tenant was filled before */
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
      creator: origin.actor,
    });
    return empty();
  });
  if (issued === undefined) throw new Error("the key for the example records was not created");
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
