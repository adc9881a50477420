/** Stores the keys that agents of devices have proved. Each change is audited and published to all replicas. */
import { type KeyClaim, keyAfterClaim, keyClaimFault } from "@gatehouse/agent-protocol/link/key-proof";
import { keyWeakness } from "@gatehouse/contract/wireguard-keys";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import { keyColumnsOf, knownKeyOf } from "../../platform/known-keys.ts";
import { empty } from "../../platform/outcome.ts";
import {
  type DeviceKeyRow,
  type DeviceRow,
  deviceView,
  identitiesOfDevices,
  lockDeviceKeys,
  readDevices,
  storeDeviceKeys,
} from "../devices/devices.api.ts";
import { ownersOfKeys } from "../gateways/gateways.api.ts";

/** A key that a device reported in `hello`. */
interface ClaimedKey {
  readonly deviceId: string;
  /** SHA-256 of the token with which the agent connected, in hexadecimal. */
  readonly tokenHash: string;
  readonly claim: KeyClaim;
}

/** The number of devices that one command updates at most. */
const maxPerCommand = 200;

/**
 * Stores claimed keys. Skips deleted devices, tokens that were revoked, and keys that the device may not have.
 *
 * @throws AppError database_unavailable; device_key_taken if another device got a key at the same time
 */
export async function storeClaimedKeys(
  runner: CommandRunner,
  tenantId: string,
  claimed: readonly ClaimedKey[],
  at: Date,
): Promise<void> {
  for (let from = 0; from < claimed.length; from += maxPerCommand) {
    await storeSome(runner, tenantId, claimed.slice(from, from + maxPerCommand), at);
  }
}

async function storeSome(
  runner: CommandRunner,
  tenantId: string,
  claimed: readonly ClaimedKey[],
  at: Date,
): Promise<void> {
  const origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: "reportDeviceKey",
    requestId: newId(),
    at,
  } as const;
  const scope = { kind: "tenant", tenantId } as const;
  await runCommand(runner, { scope, tenantId, origin, idempotency: undefined, changesAccess: true }, async (tx) => {
    const rows = await lockDeviceKeys(tx, [...new Set(claimed.map(({ deviceId }) => deviceId))]);
    // Read now that no token of these devices can change.
    const identities = await identitiesOfDevices(
      tx,
      Array.from(rows, ({ id }) => id),
    );
    // A rotated token of a device has no grace period.
    const valid = claimed.filter(({ deviceId, tokenHash }) => identities.get(deviceId)?.tokenHash === tokenHash);
    const claims = new Map(valid.map(({ deviceId, claim }) => [deviceId, claim]));
    const owners = await ownersOfKeys(tx, [...new Set(claimed.map(({ claim }) => claim.publicKey))]);
    const changed = changedKeys(rows, claims, new Map(owners.map(({ id, public_key: key }) => [key, id])), at);
    if (changed.length === 0) return empty();
    const ids = changed.map(({ id }) => id);
    const viewOf = ({ device }: DeviceRow) => deviceView(device, at);
    const before = new Map((await readDevices(tx, ids)).map((row) => [row.device.id, viewOf(row)]));
    await storeDeviceKeys(tx, grantedToSystem(), changed, at);
    for (const row of await readDevices(tx, ids)) {
      const { id, name } = row.device;
      tx.record({ type: "device", id, name, before: before.get(id), after: viewOf(row) });
    }
    return empty();
  });
}

/** @param owners the devices and gateways that have the claimed keys, by key */
function changedKeys(
  rows: readonly DeviceKeyRow[],
  claims: ReadonlyMap<string, KeyClaim>,
  owners: Map<string, string>,
  at: Date,
): DeviceKeyRow[] {
  return rows.flatMap((row) => {
    const claim = claims.get(row.id);
    const known = knownKeyOf(row);
    if (claim === undefined || keyClaimFault(known, claim, "current", at.getTime()) !== undefined) return [];
    const owner = owners.get(claim.publicKey) ?? row.id;
    if (owner !== row.id || keyWeakness(claim.publicKey) !== undefined) return [];
    owners.set(claim.publicKey, row.id);
    const next = keyAfterClaim(known, claim);
    return next === known ? [] : [{ id: row.id, ...keyColumnsOf(next) }];
  });
}
