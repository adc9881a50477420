/** The rows of packed users and devices. Their facts are equal to those that the database returns record by record. */
import { CompiledDevice } from "@gatehouse/policy/model/compiled-device";
import { CompiledUser } from "@gatehouse/policy/model/compiled-user";
import type { DeviceFacts, SessionFacts, TenantFacts, UserFacts } from "@gatehouse/policy/model/facts";
import type { PackedKind } from "./packed-pages.queries.ts";
import { idLength, idStart, type PackedRecords, quote, type RowFormat } from "./packed-records.ts";
import { SharedTexts } from "./shared-texts.ts";

/** The facts of a model. There can be millions of users and devices, so these are packed. */
export interface ModelFacts {
  readonly users: PackedRecords<CompiledUser>;
  readonly devices: PackedRecords<CompiledDevice>;
  readonly others: Omit<TenantFacts, PackedKind>;
}

type UserRow = readonly [
  texts: readonly [id: string, email: string, firstName: string, lastName: string, status: UserFacts["status"]],
  attributes: UserFacts["attributes"],
  /** Separated by spaces, in no particular order. */
  groups: string,
];

type DeviceRow = readonly [
  texts: readonly [
    id: string,
    userId: string | null,
    name: string,
    os: string,
    osVersion: string,
    appVersion: string,
    hardwareId: string,
  ],
  active: boolean,
  tags: readonly string[],
  agent: boolean,
  posture: DeviceFacts["posture"],
  session: SessionFacts | null,
  sessionEndsAt: number | null,
];

/** Objects share texts that many records contain, such as the ids of groups. */
export function userFormat(): RowFormat<CompiledUser> {
  const texts = new SharedTexts();
  return {
    encode({ facts: { id, email, firstName, lastName, status, attributes, groups } }) {
      const row: UserRow = [[id, email, firstName, lastName, status], attributes, groups.join(" ")];
      return JSON.stringify(row);
    },
    decode(row) {
      const [[id, email, firstName, lastName, status], attributes, groups] = JSON.parse(row) as UserRow;
      return new CompiledUser({
        id,
        email,
        firstName,
        lastName,
        status: texts.of(status) as UserFacts["status"], // an equal text
        attributes,
        groups: groups === "" ? [] : Array.from(groups.split(" "), (group) => texts.of(group)).sort(),
      });
    },
    // The groups are the last text of a row: `"…"]`.
    linked(bytes, _start, end) {
      const closing = end - 2;
      const from = bytes.lastIndexOf(quote, closing - 1) + 1;
      return from === closing ? [] : bytes.toString("latin1", from, closing).split(" ");
    },
  };
}

export function deviceFormat(): RowFormat<CompiledDevice> {
  const texts = new SharedTexts();
  return {
    encode({ facts }) {
      const { id, userId, active, name, os, osVersion, appVersion, hardwareId, tags, agent, posture } = facts;
      const { session = null, sessionEndsAt = null } = facts;
      const row: DeviceRow = [
        [id, userId, name, os, osVersion, appVersion, hardwareId],
        active,
        tags,
        agent,
        posture,
        session,
        sessionEndsAt,
      ];
      return JSON.stringify(row);
    },
    decode(row) {
      const [[id, userId, name, os, osVersion, appVersion, hardwareId], active, tags, agent, ...rest] = JSON.parse(
        row,
      ) as DeviceRow;
      const [posture, session, sessionEndsAt] = rest;
      return new CompiledDevice({
        id,
        userId,
        active,
        name,
        os: texts.of(os),
        osVersion: texts.of(osVersion),
        appVersion: texts.of(appVersion),
        hardwareId,
        tags,
        agent,
        posture,
        session,
        sessionEndsAt,
      });
    },
    // The id of the user, or null, follows the id of the device and `",`.
    linked(bytes, start) {
      const from = start + idStart + idLength + 2;
      return bytes[from] === quote ? [bytes.toString("latin1", from + 1, from + 1 + idLength)] : [];
    },
  };
}
