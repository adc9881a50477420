/** Compares records with their latest entries, for `gatehouse audit verify --live`. */
import { defaultTenantSettings } from "@gatehouse/contract/records/tenant-settings";
import { compareLiveFacts } from "./features/access/access.api.ts";
import { apiKeyView, listApiKeyRows } from "./features/api-keys/api-keys.api.ts";
import { domainView, listDomainRows } from "./features/domains/domains.api.ts";
import { enrolmentKeyView, listEnrolmentKeyRows } from "./features/enrolment-keys/enrolment-keys.api.ts";
import {
  listProviders,
  providerView,
  unauditedAccounts,
} from "./features/identity-providers/identity-providers.api.ts";
import { auditedPasskey, listPasskeyRows } from "./features/passkeys/passkeys.api.ts";
import { unauditedGrants } from "./features/roles/roles.api.ts";
import { usersWithUnauditedCodes } from "./features/sign-in/sign-in.api.ts";
import { readTenantSettings, tenantSettingsView } from "./features/tenant-settings/tenant-settings.api.ts";
import { existingUsers } from "./features/users/users.api.ts";
import { listWebhookRows, webhookView } from "./features/webhooks/webhooks.api.ts";
import { differingFields } from "./live-fields.queries.ts";
import { missingAccessTests, wrongRoles } from "./missing-records.queries.ts";
import { type ComparedRecords, compareLatestEntries } from "./platform/audit/compare-latest-entries.ts";
import { entriesOfType } from "./platform/audit/latest-entries.queries.ts";
import { readStub } from "./platform/audit/record.queries.ts";
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
    // Before decision 0259, documents that deleted a user recorded no deletion of the user's keys.
    ofUsers: {
      userOf: ({ user }) => ((user ?? {}) as { readonly id?: string }).id, // written by the view of keys
      existing: existingUsers,
    },
  },
  {
    type: "passkey",
    noun: "passkey",
    // Each use of a passkey updates these fields.
    observed: ["lastUsedAt", "synced"],
    added: ["fingerprint"],
    list: async (...page) => (await listPasskeyRows(...page)).map(auditedPasskey),
    ofUsers: {
      userOf: ({ userId }) => (typeof userId === "string" ? userId : undefined),
      existing: existingUsers,
    },
  },
  {
    type: "domain",
    noun: "domain",
    observed: [],
    list: async (...page) => (await listDomainRows(...page)).map(domainView),
  },
  {
    type: "identity-provider",
    noun: "identity provider",
    // The URLs contain the public address, which is a setting of the server. Documents record only added scopes.
    observed: [
      "updatedAt",
      "testedAt",
      "scopes",
      "redirectUri",
      "signInUrl",
      "backChannelLogoutUri",
      "postLogoutRedirectUri",
    ],
    partial: (after) => !("linkedUserId" in after),
    list: async (tx, ...page) =>
      (await listProviders(tx, ...page)).map((row) => providerView(row, { publicUrl: "", tenantId: tx.tenantId })),
  },
  {
    type: "webhook",
    noun: "webhook",
    observed: ["failingSince", "behindSince"],
    list: async (...page) => (await listWebhookRows(...page)).map(webhookView),
  },
];

/** @returns the differences, as sentences */
export async function compareLiveRecords(tx: TenantTx): Promise<readonly string[]> {
  const found = [...(await compareLiveFacts(tx))];
  for (const records of compared) {
    try {
      found.push(...(await compareLatestEntries(tx, records)));
    } catch (error) {
      // A view failed on an edited record. After an error of the database, no other comparison could succeed.
      if (!(error instanceof TypeError)) throw error;
      found.push(`A record of the kind ${records.noun} cannot be read: ${error.message}.`);
    }
  }
  for (const { holder, id, type } of await unauditedGrants(tx)) {
    found.push(`The ${holder} ${id} holds the role ${type}, and its latest entry does not show this role.`);
  }
  for (const { providerId, userId } of await unauditedAccounts(tx)) {
    found.push(`The user ${userId} has an account at the identity provider ${providerId}, but no entry links it.`);
  }
  for (const { userId } of await usersWithUnauditedCodes(tx)) {
    found.push(`The user ${userId} has a recovery code, but no entry records its creation.`);
  }
  for (const { type, id, field } of await differingFields(tx)) {
    found.push(`The ${field} of the ${type.replace("-", " ")} ${id} is not as its latest entry left it.`);
  }
  for (const { id } of await missingAccessTests(tx)) {
    found.push(`The access test ${id} is gone, but no entry records its deletion.`);
  }
  for (const { type, count } of await wrongRoles(tx)) {
    found.push(`The tenant has ${count} roles of the type ${type}. Every tenant has one.`);
  }
  return [...found, ...(await compareSettings(tx))];
}

/** Entries of configuration documents contain only changed settings. Settings without an entry have the defaults. */
async function compareSettings(tx: TenantTx): Promise<readonly string[]> {
  const row = await readTenantSettings(tx);
  if (row === undefined) return ["The settings of the tenant are gone. Every tenant has settings."];
  const entries = (await entriesOfType(tx, "tenant-settings")).map(({ after }) => after);
  // Retention may have pruned entries.
  const known = Object.assign((await readStub(tx)) === undefined ? { ...defaultTenantSettings } : {}, ...entries);
  const isAudited = ([name, value]: [string, unknown]) => !(name in known) || known[name] === value;
  if (Object.entries(tenantSettingsView(row)).every(isAudited)) return [];
  return ["The settings of the tenant differ from their latest entries."];
}
