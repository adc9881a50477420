import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { DeviceFolder, Enrolment } from "@gatehouse/device/configuration/device-folder";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { writeErrorLines } from "../output.ts";
import { isListedUser, isNewDevice, isNewDeviceToken } from "../response-checks.ts";
import type { EnrollingMachine } from "../sign-in/authorization-client.ts";

/** The properties with which a device is registered. */
export interface DeviceDescription {
  readonly name: string;
  /** Id or email address of the user. */
  readonly user: string;
  readonly hardwareId: string;
  readonly os: string;
  readonly osVersion: string;
  readonly appVersion: string;
}

/**
 * Registers this machine and fetches its token. If it is interrupted, running it again completes it.
 *
 * @throws CommandFailure if the API returns an error
 */
export async function enrolDevice(
  client: ApiClient,
  folder: DeviceFolder,
  url: string,
  described: () => Promise<DeviceDescription>,
): Promise<Enrolment> {
  await folder.make();
  const registered = (await folder.enrolment()) ?? (await register(client, folder, url, await described()));
  const { token } = await client.call(
    (gatehouse) => gatehouse.post("/tenants/devices/{id}/rotate-token", { path: { id: registered.device } }),
    isNewDeviceToken,
  );
  const enrolment = { ...registered, token };
  await folder.storeEnrolment(enrolment);
  return enrolment;
}

/**
 * Enrols this machine for the person who signs in and approves it in a browser.
 *
 * @throws CommandFailure if nobody approves it
 */
export async function enrolBySignIn(
  folder: DeviceFolder,
  url: string,
  machine: Omit<EnrollingMachine, "publicKey">,
): Promise<Enrolment> {
  await folder.make();
  const { AuthorizationClient } = await import("../sign-in/authorization-client.ts");
  const client = await AuthorizationClient.connect(url, "gatehouse-device");
  const { isPending, ...enrolled } = await client.enrol(
    { ...machine, publicKey: await folder.publicKey() },
    writeErrorLines,
  );
  if (isPending)
    writeErrorLines([
      "The device is waiting for the approval of an administrator. Until then, it reaches nothing.",
      "",
    ]);
  const enrolment = { url: client.url, ...enrolled };
  await folder.storeEnrolment(enrolment);
  return enrolment;
}

/**
 * Enrols this machine with an enrolment key, without a person.
 *
 * @throws CommandFailure if the server does not accept the key or the machine
 */
export async function enrolByKey(
  folder: DeviceFolder,
  url: string,
  key: string,
  machine: Omit<EnrollingMachine, "publicKey">,
): Promise<Enrolment> {
  await folder.make();
  const { AuthorizationClient } = await import("../sign-in/authorization-client.ts");
  const client = await AuthorizationClient.connect(url, "gatehouse-device");
  const { isPending: _, ...enrolled } = await client.enrolWithKey(key, {
    ...machine,
    publicKey: await folder.publicKey(),
  });
  const enrolment = { url: client.url, ...enrolled };
  await folder.storeEnrolment(enrolment);
  return enrolment;
}

/**
 * Begins a new session of this machine's device, for its user, who signs in and approves it in a browser.
 *
 * @returns the end of the session; undefined if it does not end by itself
 * @throws CommandFailure if nobody approves it
 */
export async function signInOnDevice(
  folder: DeviceFolder,
  { url, name, token }: Enrolment & { readonly token: string },
): Promise<string | undefined> {
  const { AuthorizationClient } = await import("../sign-in/authorization-client.ts");
  const client = await AuthorizationClient.connect(url, "gatehouse-device");
  return (await client.signInOnDevice({ name, token, publicKey: await folder.publicKey() }, writeErrorLines)).endsAt;
}

async function register(
  client: ApiClient,
  folder: DeviceFolder,
  url: string,
  { user, ...description }: DeviceDescription,
): Promise<Enrolment> {
  const { id: userId, label } = await userOf(client, user);
  const body = { ...description, userId, publicKey: await folder.publicKey() };
  const before = await folder.pendingEnrolment();
  const isSame = before?.url === url && isDeepStrictEqual(before.body, body);
  // With the same idempotency key, a registration whose response was lost is not repeated.
  const begun = isSame ? before : { url, idempotencyKey: randomUUID(), body };
  await folder.storePendingEnrolment(begun);
  const { idempotencyKey } = begun;
  const made = await client.call(
    (gatehouse) => gatehouse.post("/tenants/devices", { body, idempotencyKey }),
    isNewDevice,
  );
  const registered = { url, device: made.id, name: made.name, user: label };
  await folder.storeEnrolment(registered);
  return registered;
}

/** Finds a user by id or email address. @throws CommandFailure */
export async function userOf(
  client: ApiClient,
  user: string,
): Promise<{ readonly id: string; readonly label: string }> {
  if (!user.includes("@")) return { id: user, label: user };
  const query = { "filter[email]": user };
  for await (const { id, email } of client.items(
    (gatehouse) => gatehouse.list("/tenants/users", { query }),
    isListedUser,
  )) {
    if (email.toLowerCase() === user.toLowerCase()) return { id, label: email };
  }
  throw new CommandFailure(`No user has the email address ${user}.`, {
    details: ["Invite the user first, or use the user's id."],
  });
}
