/** Enrols a server that presents an enrolment key (docs/decisions/0129-enrolment-keys.md). */
import type { AuthorizationContext, EnrollingMachine, IssuedDevice } from "../../http/authorization-server.ts";
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { OAuthError } from "../../platform/oauth-error.ts";
import { empty } from "../../platform/outcome.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { issueDeviceToken } from "../devices/devices.api.ts";
import { addDevice } from "../enrolment/enrolment.api.ts";
import { readSignedInUser } from "../sessions/sessions.api.ts";
import * as queries from "./enrolment-keys.queries.ts";
import { enrolmentKeyStatus } from "./enrolment-keys.rules.ts";
import { enrolmentKeyView } from "./enrolment-keys.view.ts";

interface KeyEnrolment {
  readonly key: string;
  /** The name of the device. */
  readonly machine: string;
  readonly device: EnrollingMachine;
}

/** How long a server whose answer was lost gets another token for the same use of the key, in milliseconds. */
const retryMs = 10 * 60_000;

/** One answer for every key that does not enrol, so that the answer says nothing about keys. */
const refusal = "The enrolment key is unknown, expired, revoked or used up, or its user cannot enrol devices.";
const refusedUsers: ReadonlySet<string> = new Set(["unknown_reference", "user_deactivated", "invitation_expired"]);
const refusedDevices: ReadonlySet<string> = new Set(["device_limit_reached", "device_key_taken", "invalid_body"]);

/**
 * Creates the device and its token, and counts the use of the key, in one transaction.
 *
 * @throws OAuthError invalid_grant, invalid_request
 */
export async function enrolWithKey(
  runner: CommandRunner,
  { requestId, address }: AuthorizationContext,
  enrolment: KeyEnrolment,
): Promise<IssuedDevice> {
  const presented = await queries.findPresentedEnrolmentKey(runner.database, hashToken(enrolment.key));
  if (presented === undefined) throw refused();
  const { id, name, tenant_id: tenantId } = presented;
  const at = runner.clock.now();
  const actor = { type: "enrolment-key", id, name } as const;
  const origin = { actor, operation: "enrolDevice", requestId, sourceAddress: address, at };
  const scope = { kind: "tenant", tenantId } as const;
  let issued: IssuedDevice | undefined;
  try {
    await runCommand(runner, { scope, tenantId, origin, idempotency: undefined, changesAccess: true }, async (tx) => {
      issued = await issue(tx, id, enrolment, at);
      return empty();
    });
  } catch (error) {
    throw answerTo(error);
  }
  if (issued === undefined) throw refused();
  return issued;
}

async function issue(tx: CommandTx, keyId: string, enrolment: KeyEnrolment, now: Date): Promise<IssuedDevice> {
  const key = await queries.lockEnrolmentKey(tx, keyId);
  const status = key === undefined ? undefined : enrolmentKeyStatus(key, now);
  if (key === undefined || status === "revoked" || status === "expired") throw refused();
  const deviceId = (await lostDevice(tx, key, enrolment, now)) ?? (await addWithKey(tx, key, enrolment, now));
  const { token, view } = await issueDeviceToken(tx, grantedToSystem<"devices:write">(), deviceId, now);
  const user = await readSignedInUser(tx, key.user_id);
  if (user?.status !== "active") throw refused();
  return {
    access_token: token,
    token_type: "Bearer",
    device: { id: view.id, name: view.name },
    user: { id: user.id, email: user.email },
    tenant: { id: tx.tenantId, name: user.tenantName },
  };
}

/** The device that an earlier request of the same server made, whose answer may have been lost. */
function lostDevice(
  tx: CommandTx,
  key: queries.EnrolmentKeyRow,
  { device }: KeyEnrolment,
  now: Date,
): Promise<string | undefined> {
  return queries.lockUnconnectedDevice(tx, key.id, device, new Date(now.getTime() - retryMs));
}

async function addWithKey(
  tx: CommandTx,
  key: queries.EnrolmentKeyRow,
  { machine, device }: KeyEnrolment,
  now: Date,
): Promise<string> {
  if (enrolmentKeyStatus(key, now) !== "active") throw refused();
  const after = await queries.countUseOfKey(tx, key.id, now);
  const [earlier, later] = [enrolmentKeyView(key, now), enrolmentKeyView(after, now)];
  tx.record({ type: "enrolment-key", id: key.id, name: key.name, before: earlier, after: later });
  const enrolled = { ...device, name: machine, userId: key.user_id, tags: key.tags, enrolmentKeyId: key.id };
  return (await addDevice(tx, grantedToSystem<"devices:write">(), enrolled, now)).id;
}

function refused(): OAuthError {
  return new OAuthError("invalid_grant", refusal);
}

/** Errors about the device are explained, because only the holder of a valid key gets them. */
function answerTo(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  if (refusedUsers.has(error.code)) return refused();
  if (!refusedDevices.has(error.code)) return error;
  return new OAuthError("invalid_request", error.detail);
}
