import type { PolicyUser, User, UserStatus } from "@gatehouse/contract/records/user";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { jsonObject } from "../../platform/db/json-object.ts";
import { type JsonField, jsonArrayText } from "../../platform/db/json-text.ts";
import type { EmbedJson } from "../../platform/embedded-json.ts";
import { type DeviceJson, devicesChangeAt, deviceView } from "../devices/devices.api.ts";
import { type MailJson, mailView } from "../mail/mail.api.ts";
import { type RoleJson, rolesView } from "../roles/roles.api.ts";
import { hasExpired } from "./users.rules.ts";

/** A user as `policyUserJson` selects it. */
export interface PolicyUserJson {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_connection: string | null;
  readonly email: string;
  readonly status: UserStatus;
  readonly first_name: string;
  readonly last_name: string;
  readonly is_owner: boolean;
  readonly max_devices: number | null;
  readonly image: string;
}

/**
 * SQL for a user as policies show it, as one json value.
 *
 * @param alias the name of the row of `users`
 */
export function policyUserJson(alias: string): string {
  return jsonObject(alias, [
    "id",
    "created_at",
    "updated_at",
    "last_connection",
    "email",
    "status",
    "first_name",
    "last_name",
    "is_owner",
    "max_devices",
    "image",
  ]);
}

export function policyUserView(row: PolicyUserJson): PolicyUser {
  return {
    id: row.id,
    createdAt: isoTimestamp(row.created_at),
    updatedAt: isoTimestamp(row.updated_at),
    ...(row.last_connection === null ? {} : { lastConnection: isoTimestamp(row.last_connection) }),
    email: row.email,
    status: row.status,
    ...(row.first_name === "" ? {} : { firstName: row.first_name }),
    ...(row.last_name === "" ? {} : { lastName: row.last_name }),
    isOwner: row.is_owner,
    maxDevices: row.max_devices,
    ...(row.image === "" ? {} : { image: row.image }),
  };
}

/**
 * SQL for the groups of a user as the JSON that users show: one text, because users can be in hundreds of groups.
 *
 * @param alias the name of the row of `groups`
 * @param from SQL that begins with FROM
 */
export function userGroupsText(alias: string, from: string): string {
  return jsonArrayText(alias, groupFields, `${alias}.name_key, ${alias}.id`, from);
}

const groupFields: readonly JsonField[] = [
  { name: "id", column: "id", kind: "id" },
  { name: "createdAt", column: "created_at", kind: "time" },
  { name: "updatedAt", column: "updated_at", kind: "time" },
  { name: "name", column: "name", kind: "text" },
  { name: "description", column: "description", kind: "filled-text" },
];

/** The invitation of a pending user. Active and deactivated users show none. */
function invitationView(
  { user, invitation_expires_at: expiresAt }: WholeUser,
  now: Date,
): Pick<User, "invitationExpiresAt" | "invitationExpired"> {
  if (user.status !== "pending" || expiresAt === null) return {};
  return { invitationExpiresAt: expiresAt, invitationExpired: hasExpired(expiresAt, now) };
}

/** A user with everything that its record embeds. */
export interface WholeUser {
  readonly user: PolicyUserJson;
  readonly attributes: User["attributes"];
  /** ISO 8601; null for a user without an invitation. */
  readonly invitation_expires_at: string | null;
  readonly roles: RoleJson[] | null;
  /** JSON of an array. */
  readonly groups: string;
  readonly devices: DeviceJson[] | null;
  /** The latest mail to the user. */
  readonly mail: MailJson | null;
}

/** The time at which the user's view changes although nothing is written, in milliseconds. */
export function userChangesAt({ user, invitation_expires_at: expiresAt, devices }: WholeUser, now: Date): number {
  const expires = user.status === "pending" && expiresAt !== null ? Date.parse(expiresAt) : Number.NaN;
  const devicesChange = devicesChangeAt(devices, now);
  return expires > now.getTime() ? Math.min(expires, devicesChange) : devicesChange;
}

/**
 * @param now the time for which the states of the invitation and of devices are computed
 * @param embed returns the value for the place of JSON, by default the parsed JSON
 */
export function userView(row: WholeUser, now: Date, embed: EmbedJson = JSON.parse): User {
  return {
    ...policyUserView(row.user),
    attributes: row.attributes,
    ...invitationView(row, now),
    roles: rolesView(row.roles),
    groups: embed<User["groups"]>(row.groups),
    devices: (row.devices ?? []).map((device) => deviceView(device, now)),
    ...(row.mail === null ? {} : { mail: mailView(row.mail) }),
  };
}
