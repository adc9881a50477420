import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/identity-providers.operations";
import { type Permission, permissions } from "@gatehouse/contract/permissions";
import { defaultProviderSettings, maxIdentityProviders } from "@gatehouse/contract/records/identity-provider";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import type { AllowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import { created, empty, type Outcome, record, report, streamed } from "../../platform/outcome.ts";
import { lockGeneration } from "../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endDeviceSessionsOfProvider } from "../devices/devices.api.ts";
import * as queries from "./identity-providers.queries.ts";
import { type ProviderPlace, providerView, signInUrl } from "./identity-providers.view.ts";
import { issuerProblem } from "./issuer.rules.ts";
import { sealTestTicket } from "./provider-ceremonies.ts";

interface PlacedCall {
  readonly publicUrl: string;
  readonly tenantId: string;
}

function placeOf({ publicUrl, tenantId }: PlacedCall): ProviderPlace {
  return { publicUrl, tenantId };
}

export async function listIdentityProviders(call: Call<typeof operations.listIdentityProviders>): Promise<Outcome> {
  const place = placeOf(call);
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listProviders(tx, afterId, limit))).map((row) => providerView(row, place)),
  );
}

export async function readIdentityProvider(call: Call<typeof operations.readIdentityProvider>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readProvider(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(providerView(row, placeOf(call)), row.version);
}

export async function createIdentityProvider(call: Call<typeof operations.createIdentityProvider>): Promise<Outcome> {
  const { body, granted, now } = call;
  const place = placeOf(call);
  requireIssuer(body.issuer, call.providerNetworks);
  return call.command(async (tx) => {
    // Held until the end, so that nobody else exceeds the limit.
    await lockGeneration(tx);
    if ((await queries.countProviders(tx)) >= maxIdentityProviders) {
      throw new AppError("identity_provider_limit_reached", {
        detail: `The tenant already has ${maxIdentityProviders} identity providers, which is the limit.`,
      });
    }
    const id = newId();
    const { scopes, groupsClaim, firstSignIn, linkVerifiedEmail } = { ...defaultProviderSettings, ...body };
    const provider: queries.StoredProvider = {
      id,
      name: body.name,
      enabled: false,
      issuer: body.issuer,
      client_id: body.clientId,
      client_secret_ciphertext: sealSecret(call, id, body.clientSecret),
      settings: { scopes, groupsClaim, firstSignIn, linkVerifiedEmail },
      tested_at: null,
    };
    const row = await queries.insertProvider(tx, granted, provider, now);
    const after = providerView(row, place);
    tx.record({ type: "identity-provider", id, name: row.name, after });
    return created(after, row.version, `/tenants/identity-providers/${id}`);
  });
}

export async function patchIdentityProvider(call: Call<typeof operations.patchIdentityProvider>): Promise<Outcome> {
  const { body, granted, now } = call;
  const place = placeOf(call);
  if (body.issuer !== undefined) requireIssuer(body.issuer, call.providerNetworks);
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    const changed: queries.ProviderRow = {
      ...row,
      name: body.name ?? row.name,
      enabled: body.enabled ?? row.enabled,
      issuer: body.issuer ?? row.issuer,
      client_id: body.clientId ?? row.client_id,
      settings: {
        scopes: body.scopes ?? row.settings.scopes,
        groupsClaim: body.groupsClaim ?? row.settings.groupsClaim,
        firstSignIn: body.firstSignIn ?? row.settings.firstSignIn,
        linkVerifiedEmail: body.linkVerifiedEmail ?? row.settings.linkVerifiedEmail,
      },
    };
    const reconnects = body.clientSecret !== undefined || !isDeepStrictEqual(connectionOf(changed), connectionOf(row));
    if (!reconnects && isDeepStrictEqual(changed, row)) return record(providerView(row, place), row.version);
    if (reconnects && changed.enabled) throw new AppError("identity_provider_enabled");
    if (changed.enabled && row.tested_at === null) throw new AppError("identity_provider_untested");
    if (changed.enabled) requireEveryPermission(call.permissions);
    if (row.enabled && !changed.enabled) await requireOwnersWayIn(tx, row.id);
    const stored: queries.StoredProvider = {
      ...changed,
      tested_at: reconnects ? null : row.tested_at,
      client_secret_ciphertext: sealSecret(call, row.id, body.clientSecret) ?? row.client_secret_ciphertext,
    };
    const updated = await queries.updateProvider(tx, granted, stored, now);
    const after = providerView(updated, place);
    tx.record({
      type: "identity-provider",
      id: row.id,
      name: updated.name,
      before: providerView(row, place),
      after,
    });
    return record(after, updated.version);
  });
}

export async function deleteIdentityProvider(call: Call<typeof operations.deleteIdentityProvider>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    if (row.enabled) await requireOwnersWayIn(tx, row.id);
    await endDeviceSessionsOfProvider(
      tx,
      { providerId: row.id },
      { at: call.now, reason: "provider-deleted", by: call.actor },
    );
    await queries.deleteProvider(tx, call.granted, row.id);
    const before = providerView(row, placeOf(call));
    tx.record({ type: "identity-provider", id: row.id, name: row.name, before });
    return empty();
  });
}

/** The browser that opens the address talks to the provider, so that the test covers the whole sign-in. */
export async function testIdentityProvider(call: Call<typeof operations.testIdentityProvider>): Promise<Outcome> {
  const { tenantId, now, secrets } = call;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    const provider = { tenantId, providerId: row.id, version: row.version };
    const ticket = sealTestTicket(secrets.signInChallenges, provider, now);
    return report({ url: `${signInUrl(placeOf(call), row.id)}?ticket=${ticket}` });
  });
}

/** The context to which a client secret is bound. */
export function secretContext(tenantId: string, id: string): string {
  return `identity-provider:${tenantId}:${id}`;
}

function sealSecret(
  { secrets, tenantId }: Pick<Call<typeof operations.createIdentityProvider>, "secrets" | "tenantId">,
  id: string,
  secret: string | undefined,
): Buffer | null {
  return secret === undefined ? null : secrets.providerSecrets.seal(secret, secretContext(tenantId, id));
}

/** The settings that decide whether a sign-in works; they are tested before people use them. */
function connectionOf({ issuer, client_id, settings: { scopes, groupsClaim } }: queries.ProviderRow): object {
  return { issuer, client_id, scopes, groupsClaim };
}

/**
 * An enabled provider decides who signs in as any user of the tenant, including the owner. Otherwise, a caller that can
 * only write providers could enable one of its own, and take over the owner's account.
 *
 * @throws AppError grants_exceed_caller
 */
export function requireEveryPermission(held: ReadonlySet<Permission>): void {
  const beyond = permissions.filter((permission) => !held.has(permission));
  if (beyond.length === 0) return;
  throw new AppError("grants_exceed_caller", {
    detail: `People who sign in with the provider can hold permissions that the caller does not hold: ${beyond.join(", ")}.`,
  });
}

/** @throws AppError last_way_in if the owner can sign in with no other provider, passkey or recovery code */
export async function requireOwnersWayIn(tx: TenantTx, id: string): Promise<void> {
  if (await queries.isOwnersLastWayIn(tx, id)) throw new AppError("last_way_in");
}

/** @throws AppError invalid_issuer */
function requireIssuer(text: string, networks: AllowedNetworks): void {
  const problem = issuerProblem(text, networks);
  if (problem !== undefined) throw new AppError("invalid_issuer", { errors: [bodyField("/issuer", problem)] });
}

/** @throws AppError not_found, precondition_failed */
async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<queries.ProviderRow> {
  const row = await queries.lockProvider(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}
