/** Creates the operator's key, the first tenant and its key at the first start on an empty database. */
import type { Origin } from "../../platform/change.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { empty } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { enrolmentPath, issueEnrolmentLinks } from "../enrolment-links/enrolment-links.api.ts";
import { issueRecoveryCode } from "../sign-in/sign-in.api.ts";
import { checkMasterKey } from "./check-master-key.ts";
import { lockInstallation, readFact, storeFact } from "./installation.queries.ts";
import { provisionTenant } from "./provision-tenant.ts";
import { appendOperatorEvent, hasTenants } from "./tenants.queries.ts";
import { tenantView } from "./tenants.view.ts";

export interface SetUpSettings {
  /** From the configuration; undefined to generate a key at the first start. */
  readonly operatorKey: string | undefined;
  /** The value of the first tenant's key, from the configuration. */
  readonly bootstrapApiKey: string | undefined;
  readonly tenantName: string;
  readonly ownerEmail: string;
}

export interface Installation {
  readonly operatorKeyHash: Buffer;
  /** The key that this start generated; it is not shown again. */
  readonly operatorKey: string | undefined;
  readonly firstApiKey: string | undefined;
  /** The ways in for the owner of the first tenant, if this start created it. They are not shown again. */
  readonly owner?: OwnerWaysIn | undefined;
}

export interface OwnerWaysIn {
  readonly email: string;
  /** The path of the link with which the owner registers a passkey, below the public address. */
  readonly enrolmentPath: string;
  /** Signs the owner in without a passkey or a provider. */
  readonly recoveryCode: string;
}

/**
 * Safe to run at every start, and on several replicas at once.
 *
 * @throws WrongMasterKeyError if the stored secrets are encrypted with another master key
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
      let owner: OwnerWaysIn | undefined;
      if (first !== undefined) {
        const after = tenantView(first.tenant);
        await appendOperatorEvent(tx, { id: newId(), origin, tenantId, after });
        const box = runner.secrets.enrolmentLinks;
        const [link] = await issueEnrolmentLinks(tx, [first.owner], { at: now, by: origin.actor, box });
        owner = {
          email: first.owner.email,
          enrolmentPath: enrolmentPath(link?.token ?? ""),
          recoveryCode: await issueRecoveryCode(tx, first.owner, now),
        };
      }
      made = {
        operatorKeyHash: operator.hash,
        operatorKey: operator.made,
        firstApiKey: first?.apiKey.key,
        owner,
      };
      return empty();
    },
  );
  if (made === undefined) throw new Error("setting up the installation did not run");
  return made;
}

/** Generates an operator key only if it can be shown. With a configured key, no unknown key is left behind. */
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
