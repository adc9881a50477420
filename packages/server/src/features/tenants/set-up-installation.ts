/** What the first start on an empty database makes: the operator's key, the first tenant, its key. */
import type { Origin } from "../../platform/change.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { empty } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { checkMasterKey } from "./check-master-key.ts";
import { lockInstallation, readFact, storeFact } from "./installation.queries.ts";
import { provisionTenant } from "./provision-tenant.ts";
import { appendOperatorEvent, hasTenants } from "./tenants.queries.ts";
import { tenantView } from "./tenants.view.ts";

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

/**
 * Safe to call at every start, and by several replicas at once.
 *
 * @throws WrongMasterKeyError when the stored secrets are encrypted with another master key
 */
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
    { scope: { kind: "operator", tenantId }, tenantId, origin, idempotency: undefined, changesAccess: true },
    async (tx) => {
      await lockInstallation(tx);
      await checkMasterKey(tx, runner.secrets.masterKeyCheck);
      const operator = await operatorKey(tx, settings.operatorKey);
      const first = (await hasTenants(tx))
        ? undefined
        : await provisionTenant(tx, now, {
            name: settings.tenantName,
            ownerEmail: settings.ownerEmail,
            key: settings.bootstrapApiKey,
          });
      if (first !== undefined) {
        const after = tenantView(first.tenant);
        await appendOperatorEvent(tx, { id: newId(), origin, tenantId, after });
      }
      made = {
        operatorKeyHash: operator.hash,
        operatorKey: operator.made,
        firstApiKey: first?.apiKey.key,
      };
      return empty();
    },
  );
  if (made === undefined) throw new Error("setting up the installation did not run");
  return made;
}

/** One is only made when it can be shown: a configured key leaves no unknown one behind. */
async function operatorKey(
  transaction: Transaction,
  configured: string | undefined,
): Promise<{ readonly hash: Buffer; readonly made: string | undefined }> {
  if (configured !== undefined) return { hash: hashToken(configured), made: undefined };
  const known = await readFact(transaction, "operator-key-sha256");
  if (known !== undefined) return { hash: known, made: undefined };
  const made = generateToken(tokenPrefixes.operator);
  await storeFact(transaction, "operator-key-sha256", hashToken(made));
  return { hash: hashToken(made), made };
}
