/** A person's devices with any WireGuard app (docs/decisions/0151). */
import type * as operations from "@gatehouse/contract/operations/my.operations";
import type { Work } from "@gatehouse/policy/work";
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { requirePerson } from "../../platform/authorization/recent-authentication.ts";
import type { Call } from "../../platform/call.ts";
import { created, type Outcome, record, report } from "../../platform/outcome.ts";
import { deviceSessionFrom } from "../authorizations/authorizations.api.ts";
import { deviceView, readDevices, renewDeviceSession, routesOfDevice } from "../devices/devices.api.ts";
import { addDevice } from "../enrolment/enrolment.api.ts";
import { readTenantSettings } from "../tenant-settings/tenant-settings.api.ts";
import { lockOwnDevice } from "./my-devices.commands.ts";
import { createKeyChallenge, isKeyProved } from "./my-key-challenge.ts";

/** The hardware id of devices whose machine is unknown. */
const unknownHardware = "wireguard-app";

export async function createMyKeyChallenge(call: Call<typeof operations.createMyKeyChallenge>): Promise<Outcome> {
  const { userId } = requirePerson(call);
  const { tenantId, secrets, now } = call;
  const answer = report(createKeyChallenge(secrets.signInChallenges, { tenantId, userId }, call.body.publicKey, now));
  // The answer to a POST is stored for a repeated request.
  return call.idempotency === undefined ? answer : call.command(async () => answer);
}

export async function addMyDevice(call: Call<typeof operations.addMyDevice>): Promise<Outcome> {
  const { id: sessionId, userId } = requirePerson(call);
  const { tenantId, secrets, now, body } = call;
  if (!isKeyProved(secrets.signInChallenges, { tenantId, userId }, body, now)) throw new AppError("key_not_proved");
  const { name, publicKey } = body;
  return call.command(async (tx) => {
    const session = await deviceSessionFrom(tx, sessionId);
    const approvalPending = (await readTenantSettings(tx))?.deviceApproval === "administrator";
    const device = {
      name,
      userId,
      hardwareId: unknownHardware,
      publicKey,
      approvalPending,
      agent: false,
      keyProved: true,
      session,
    };
    const { id, view, version } = await addDevice(tx, grantedToSystem<"devices:write">(), device, now);
    return created(view, version, `/tenants/my/devices/${id}`);
  });
}

export async function signInMyDevice(call: Call<typeof operations.signInMyDevice>): Promise<Outcome> {
  const { id: sessionId } = requirePerson(call);
  return call.command(async (tx) => {
    const session = await deviceSessionFrom(tx, sessionId);
    const { row } = await lockOwnDevice(call, tx);
    if (row.agent) throw new AppError("device_runs_agent", { detail: `The device ${row.name} runs the agent.` });
    if (!row.active && !row.approval_pending) {
      throw new AppError("device_deactivated", { detail: `The device ${row.name} is deactivated.` });
    }
    await renewDeviceSession(tx, row.id, session, call.now);
    const [after] = await readDevices(tx, [row.id]);
    if (after === undefined) throw new AppError("not_found");
    return record(deviceView(after.device, call.now), after.version);
  });
}

export async function readMyDeviceConfiguration(
  call: Call<typeof operations.readMyDeviceConfiguration>,
): Promise<Outcome> {
  const { userId } = requirePerson(call);
  const { id } = call.parameters;
  const [row] = await call.read((tx) => readDevices(tx, [id]));
  if (row?.device.user?.id !== userId) throw new AppError("not_found");
  // Policies can demand source addresses, and nobody has seen packets of a new device yet.
  const evaluate = <Result>(work: Work<Result>) => call.evaluateForPerson(userId, "Your routes", work);
  return report(await routesOfDevice(call, id, evaluate, call.origin.sourceAddress));
}
