/** What the first start on an empty database makes: the operator's key, the first tenant, its key. */
import type { Origin } from "../../platform/audit/change.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import { empty } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { lockInstallation, readOperatorKeyHash, storeOperatorKeyHash } from "./installation.queries.ts";
import { provisionTenant } from "./provision-tenant.ts";
import { hasTenants } from "./tenants.queries.ts";

export interface SetUpSettings {
  /** From the configuration; where absent, one is made at the first start. */
  readonly operatorKey: string | undefined;
  /** From the configuration: the value of the first tenant's key. */
  readonly bootstrapApiKey: string | undefined;
  readonly tenantName: string;
  readonly ownerEmail: string;
}

export interface Installation {
  readonly operatorKeyHash: Buffer;
  /** What was made at this start, and is never shown again. */
  readonly operatorKey: string | undefined;
  readonly firstApiKey: string | undefined;
}

/** Safe to call at every start, and by several replicas at once. */
export async function setUpInstallation(
  runner: CommandRunner,
  settings: SetUpSettings,
  now: Date,
): Promise<Installation> {
  const tenantId = newId();
  const origin: Origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: "setUpInstallation",
    requestId: newId(),
    at: now,
  };
  let made: Installation | undefined;
  await runCommand(
    runner,
    { scope: { kind: "operator", tenantId }, tenantId, origin, idempotency: undefined },
    async (tx) => {
      await lockInstallation(tx);
      const known = await readOperatorKeyHash(tx);
      const generated = known === undefined ? generateToken(tokenPrefixes.operator) : undefined;
      if (generated !== undefined) await storeOperatorKeyHash(tx, hashToken(generated));
      const first = (await hasTenants(tx))
        ? undefined
        : await provisionTenant(tx, now, {
            name: settings.tenantName,
            ownerEmail: settings.ownerEmail,
            key: settings.bootstrapApiKey,
          });
      made = {
        operatorKeyHash:
          settings.operatorKey === undefined ? (known ?? hashToken(generated ?? "")) : hashToken(settings.operatorKey),
        operatorKey: settings.operatorKey === undefined ? generated : undefined,
        firstApiKey: first?.apiKey.key,
      };
      return empty();
    },
  );
  if (made === undefined) throw new Error("setting up the installation did not run");
  return made;
}
