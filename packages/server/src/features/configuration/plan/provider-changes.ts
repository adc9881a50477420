/** Rules for changes of identity providers, the same as for single requests (0094). */
import type { ProblemField } from "@gatehouse/contract/problem";
import { bodyField } from "../../../platform/app-error.ts";
import type { AllowedNetworks } from "../../../platform/outbound/outbound-networks.ts";
import { issuerProblem } from "../../identity-providers/identity-providers.api.ts";
import type { TenantRecords } from "../tenant-records.ts";
import type { RecordChange } from "./plan-changes.ts";

type ProviderChange = RecordChange<"identity-provider">;

/** The fields that decide whether a sign-in works. */
const connectionFields: ReadonlySet<string> = new Set(["issuer", "clientId", "scopes", "groupsClaim"]);

/** Whether the provider must pass another test sign-in. */
export function reconnects(change: ProviderChange): boolean {
  return change.action === "update" && change.fields.some(({ field }) => connectionFields.has(field));
}

export function providerProblems(
  changes: readonly ProviderChange[],
  { testedProviders }: Pick<TenantRecords, "testedProviders">,
  networks: AllowedNetworks,
): readonly ProblemField[] {
  return changes.flatMap((change) => {
    if (change.action === "delete" || change.pointer === undefined) return [];
    const { after, pointer, key } = change;
    const before = change.action === "update" ? change.before : undefined;
    const issuer = before?.issuer === after.issuer ? undefined : issuerProblem(after.issuer, networks);
    const problems = issuer === undefined ? [] : [bodyField(`${pointer}/issuer`, `the issuer ${issuer}`)];
    const isTested = testedProviders.has(key) && !reconnects(change);
    if (before?.enabled === true && reconnects(change)) {
      const message =
        "the provider is enabled, and its issuer, client ID, scopes and groups claim cannot change; disable it first, or add a second provider";
      problems.push(bodyField(pointer, message));
    } else if (after.enabled && !isTested) {
      const message = "the provider must pass a test sign-in first; apply it with enabled: false, and test it";
      problems.push(bodyField(`${pointer}/enabled`, message));
    }
    return problems;
  });
}
