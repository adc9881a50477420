import {
  type DeviceSessionState,
  deviceSessionStates,
  type ListedDeviceSession,
} from "@gatehouse/contract/records/device-session";
import { type Command, Option } from "commander";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { tableLines, writeJson, writeLines } from "../output.ts";
import { isDeviceSession, isNamed, isNothing } from "../response-checks.ts";
import { type ApiOptions, addApiOptions, apiClient } from "./api-options.ts";
import { userOf } from "./device-enrolment.ts";
import { parseId } from "./parse-id.ts";

interface ListOptions extends ApiOptions {
  readonly user?: string;
  readonly device?: string;
  readonly group?: string;
  readonly state?: DeviceSessionState;
}

interface AskOptions extends ApiOptions {
  readonly user?: readonly string[];
  readonly device?: readonly string[];
  readonly group?: readonly string[];
}

export function addDeviceSessionCommands(program: Command): void {
  const session = program
    .command("device-session")
    .summary("list and end the sessions of devices")
    .description("List the sessions of devices, end them, and require users to sign in again.");
  const list = session
    .command("list")
    .summary("list the sessions of devices")
    .description("Lists the latest session of each device, when it ends, and who ended it.")
    .option("--user <user>", "Only devices of this user, by id or email address.")
    .option("--device <id>", "Only the device with this id.", parseId)
    .option("--group <group>", "Only devices of the members of this group, by id or name.")
    .addOption(new Option("--state <state>", "Only sessions in this state.").choices(deviceSessionStates))
    .action(listSessions)
    .addHelpText(
      "after",
      "\nPermissions: devices:read, users:read for an email address, and groups:read for the name of a group.",
    );
  const end = session
    .command("end")
    .summary("end the session of a device")
    .description("Ends the session of a device. The device loses its access until its user signs in again on it.")
    .argument("<id>", "the device's id, as shown by device-session list", parseId)
    .action(endSession);
  const ask = session
    .command("require-sign-in")
    .summary("require users to sign in again on their devices")
    .description(
      "Ends the sessions of the named devices, of all devices of the named users, and of all devices of the named groups' members. The devices lose their access until their users sign in again on them.",
    )
    .option("--device <id...>", "Ids of devices.")
    .option("--user <user...>", "Ids or email addresses of users.")
    .option("--group <group...>", "Ids or names of groups.")
    .action(requireSignIn)
    .addHelpText(
      "after",
      `
Permissions: devices:write, users:read for email addresses, and groups:read for names of groups.

Examples:
  gatehouse device-session require-sign-in --user ann@example.com
  gatehouse device-session require-sign-in --group Contractors`,
    );
  for (const command of [list, end, ask]) addApiOptions(command, "apiKey");
}

async function listSessions(options: ListOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  const { user, device, group, state } = options;
  const query = {
    sort: ["device.name"],
    ...(device === undefined ? {} : { "filter[id]": device }),
    ...(user === undefined ? {} : { "filter[user.id]": (await userOf(client, user)).id }),
    ...(group === undefined ? {} : { "filter[group.id]": await groupOf(client, group) }),
    ...(state === undefined ? {} : { "filter[state]": state }),
  };
  const sessions = [];
  for await (const item of client.items(
    (gatehouse) => gatehouse.list("/tenants/device-sessions", { query }),
    isDeviceSession,
  )) {
    sessions.push(item);
  }
  if (options.json === true) return writeJson(sessions);
  const rows = sessions.map((listed) => {
    const { id, device: of, user: by, state: now, endsAt } = listed;
    return [id, of.name, by.email, now, endsAt ?? "never", formatEnd(listed)];
  });
  await writeLines(
    rows.length === 0
      ? ["No device sessions."]
      : tableLines(["DEVICE ID", "DEVICE", "USER", "STATE", "ENDS", "ENDED BECAUSE"], rows),
  );
}

const endReasons: Readonly<Record<NonNullable<ListedDeviceSession["endReason"]>, string>> = {
  "device-deactivated": "the device was deactivated",
  "passkeys-reset": "the passkeys were reset",
  "provider-deleted": "the identity provider was deleted",
  "sign-in-required": "a new sign-in was required",
  "signed-out": "the user was signed out everywhere",
  "signed-out-at-provider": "the user signed out at the identity provider",
  "user-deactivated": "the user was deactivated",
};

/** The reason and the author of the end; empty unless the session was ended before its time. */
function formatEnd({ endReason, endedBy }: ListedDeviceSession): string {
  if (endReason === undefined) return "";
  // A newer server may send reasons that this version does not know.
  const reason = endReasons[endReason] ?? endReason;
  return endedBy === undefined || endedBy.type === "system" ? reason : `${reason}, by ${endedBy.name}`;
}

async function endSession(id: string, options: ApiOptions): Promise<void> {
  const client = apiClient(options, "apiKey");
  await client.call((gatehouse) => gatehouse.delete("/tenants/device-sessions/{id}", { path: { id } }), isNothing);
  if (options.json === true) return writeJson({ ended: id });
  await writeLines([`Ended the session of the device ${id}. Its user must sign in again on it.`]);
}

async function requireSignIn(options: AskOptions): Promise<void> {
  const { device = [], user = [], group = [] } = options;
  if (device.length + user.length + group.length === 0) {
    throw new CommandFailure("No device, user or group is named.", { details: ["Use --device, --user or --group."] });
  }
  const client = apiClient(options, "apiKey");
  const users: string[] = [];
  for (const named of user) users.push((await userOf(client, named)).id);
  const groups: string[] = [];
  for (const named of group) groups.push(await groupOf(client, named));
  const body = { devices: [...new Set(device)], users: [...new Set(users)], groups: [...new Set(groups)] };
  await client.call((gatehouse) => gatehouse.post("/tenants/device-sessions/require-sign-in", { body }), isNothing);
  if (options.json === true) return writeJson(body);
  await writeLines(["The users must sign in again on their devices."]);
}

/** Finds a group by id or name. @throws CommandFailure */
async function groupOf(client: ApiClient, group: string): Promise<string> {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(group)) return group;
  const query = { "filter[name]": group };
  for await (const { id, name } of client.items((gatehouse) => gatehouse.list("/tenants/groups", { query }), isNamed)) {
    if (name === group) return id;
  }
  throw new CommandFailure(`No group is named ${group}.`, { details: ["Use the group's name or id with --group."] });
}
