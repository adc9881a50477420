/** Providers as configuration documents write them, without their secrets. */
import type { Granted } from "../../platform/authorization/granted.ts";
import { nilId } from "../../platform/ids.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endDeviceSessionsOfProvider, type SessionEnd } from "../devices/devices.api.ts";
import { requireOwnersWayIn } from "./identity-providers.commands.ts";
import * as queries from "./identity-providers.queries.ts";

export interface ConfiguredProvider extends queries.ProviderSettings {
  readonly id: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly enabled: boolean;
  /** Whether a test sign-in succeeded with the current connection. */
  readonly tested: boolean;
}

type Writing = Granted<"identity-providers:write">;

/** More than a tenant has. */
const most = 1_000;

export async function readAllProviders(tx: TenantTx): Promise<readonly ConfiguredProvider[]> {
  const rows = await queries.listProviders(tx, nilId, most);
  return rows.map(({ id, name, issuer, client_id: clientId, enabled, settings, tested_at: testedAt }) => {
    const { scopes, groupsClaim, firstSignIn, linkVerifiedEmail } = settings;
    const own = { scopes, groupsClaim, firstSignIn, linkVerifiedEmail };
    return { id, name, issuer, clientId, enabled, tested: testedAt !== null, ...own };
  });
}

export async function createConfiguredProvider(
  tx: TenantTx,
  granted: Writing,
  provider: Omit<ConfiguredProvider, "tested">,
  at: Date,
): Promise<void> {
  const stored = { ...storedFields(provider), client_secret_ciphertext: null, tested_at: null };
  await queries.insertProvider(tx, granted, stored, at);
}

/**
 * Updates a provider, which keeps its secret.
 *
 * @param reconnects whether the provider must pass another test sign-in
 * @throws AppError last_way_in
 */
export async function updateConfiguredProvider(
  tx: TenantTx,
  granted: Writing,
  { reconnects, ...provider }: Omit<ConfiguredProvider, "tested"> & { readonly reconnects: boolean },
  at: Date,
): Promise<void> {
  const row = await queries.lockProvider(tx, provider.id);
  if (row === undefined) throw new Error(`the plan refers to the provider ${provider.name}, which does not exist`);
  if (row.enabled && !provider.enabled) await requireOwnersWayIn(tx, row.id);
  const stored = { ...row, ...storedFields(provider), ...(reconnects ? { tested_at: null } : {}) };
  await queries.updateProvider(tx, granted, stored, at);
}

/** @throws AppError last_way_in */
export async function deleteConfiguredProvider(
  tx: CommandTx,
  granted: Writing,
  id: string,
  { at, by }: Pick<SessionEnd, "at" | "by">,
): Promise<void> {
  const row = await queries.lockProvider(tx, id);
  if (row?.enabled === true) await requireOwnersWayIn(tx, id);
  await endDeviceSessionsOfProvider(tx, { providerId: id }, { at, reason: "provider-deleted", by });
  await queries.deleteProvider(tx, granted, id);
}

function storedFields(provider: Omit<ConfiguredProvider, "tested">) {
  const { id, name, issuer, clientId, enabled, scopes, groupsClaim, firstSignIn, linkVerifiedEmail } = provider;
  const settings = { scopes, groupsClaim, firstSignIn, linkVerifiedEmail };
  return { id, name, issuer, client_id: clientId, enabled, settings };
}
