/** Compares records with their latest entries, for `gatehouse audit verify --live`. */
import { compareLiveFacts } from "./features/access/access.api.ts";
import { apiKeyView, listApiKeyRows } from "./features/api-keys/api-keys.api.ts";
import { enrolmentKeyView, listEnrolmentKeyRows } from "./features/enrolment-keys/enrolment-keys.api.ts";
import { unauditedGrants } from "./features/roles/roles.api.ts";
import { listWebhookRows, webhookView } from "./features/webhooks/webhooks.api.ts";
import { type ComparedRecords, compareLatestEntries } from "./platform/audit/compare-latest-entries.ts";
import type { TenantTx } from "./platform/tenancy/tenant-tx.ts";

const compared: readonly ComparedRecords[] = [
  {
    type: "api-key",
    noun: "API key",
    observed: ["lastUsedAt"],
    list: async (...page) => (await listApiKeyRows(...page)).map(apiKeyView),
  },
  {
    type: "enrolment-key",
    noun: "enrolment key",
    // The status follows the time, and the address follows the user.
    observed: ["status", "user"],
    list: async (...page) => (await listEnrolmentKeyRows(...page)).map((row) => enrolmentKeyView(row, new Date(0))),
  },
  {
    type: "webhook",
    noun: "webhook",
    observed: ["failingSince"],
    list: async (...page) => (await listWebhookRows(...page)).map(webhookView),
  },
];

/** @returns the differences, as sentences */
export async function compareLiveRecords(tx: TenantTx): Promise<readonly string[]> {
  const found = [...(await compareLiveFacts(tx))];
  for (const records of compared) found.push(...(await compareLatestEntries(tx, records)));
  for (const { holder, id, type } of await unauditedGrants(tx)) {
    found.push(`The ${holder} ${id} holds the role ${type}, and its latest entry does not show this role.`);
  }
  return found;
}
