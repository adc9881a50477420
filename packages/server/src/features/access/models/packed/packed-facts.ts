/** The rows of packed records. Their facts are equal to those that the database returns record by record. */
import { type ResourceType, resourceTypes } from "@gatehouse/contract/records/address";
import { CompiledDevice } from "@gatehouse/policy/model/compiled-device";
import { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import { CompiledUser } from "@gatehouse/policy/model/compiled-user";
import type { DeviceFacts, ResourceFacts, SessionFacts, TenantFacts, UserFacts } from "@gatehouse/policy/model/facts";
import type { LargeKind } from "@gatehouse/policy/model/model";
import { idLength, idStart, type PackedRecords, quote, type RowFormat } from "./packed-records.ts";
import type { PageLists } from "./page-lists.ts";
import { SharedLists, SharedTexts } from "./shared-texts.ts";

/** The facts of a model. There can be millions of users and devices, and 100,000 resources, so these are packed. */
export interface ModelFacts {
  readonly users: PackedRecords<CompiledUser>;
  readonly devices: PackedRecords<CompiledDevice>;
  readonly resources: PackedRecords<CompiledResource>;
  readonly others: Omit<TenantFacts, LargeKind>;
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

type ResourceRow = readonly [
  texts: readonly [id: string, name: string, loadBalancingMode: ResourceFacts["loadBalancingMode"], gateways: string],
  /** The protocols refer to lists of the page. The blocks of answers are missing if they are the default. */
  addresses: readonly (readonly [address: string, protocols: string, answersWithin?: readonly string[]])[],
  /** A digit at the end of the row, so that it can be read without the rest. */
  type: number,
];

/**
 * The number of recently used resources that are retained as objects, at least. Most work concerns few resources, or
 * looks only at ids and types.
 */
const retainedResources = 10_000;

/** Resources share lists of gateways that many resources have, and the lists of ports of each protocol. */
export function resourceFormat(): RowFormat<CompiledResource> {
  const texts = new SharedTexts();
  const gatewayLists = new SharedLists((text) => Array.from(text.split(" "), (id) => texts.of(id)));
  const factsOf = (row: string, lists: PageLists): ResourceFacts => {
    const [[id, name, mode, gateways], addresses, type] = JSON.parse(row) as ResourceRow;
    return {
      id,
      name,
      type: typeOf(type),
      loadBalancingMode: texts.of(mode) as ResourceFacts["loadBalancingMode"], // an equal text
      addresses: addresses.map(([address, protocols, answersWithin = null]) => ({
        address,
        answersWithin,
        protocols: lists.protocolsOf(protocols),
      })),
      gateways: gatewayLists.of(gateways),
    };
  };
  return {
    retained: retainedResources,
    weightOf: ({ weight }) => weight,
    encode({ facts: { id, name, type, loadBalancingMode, addresses, gateways } }, lists) {
      const row: ResourceRow = [
        [id, name, loadBalancingMode, gateways.join(" ")],
        addresses.map(({ address, protocols, answersWithin = null }) => {
          const offered = lists.textOf(protocols);
          return answersWithin === null ? [address, offered] : [address, offered, answersWithin];
        }),
        resourceTypes.indexOf(type),
      ];
      return JSON.stringify(row);
    },
    decode(row, generation, lists) {
      const id = row.slice(idStart, idStart + idLength);
      const type = typeOf(row.charCodeAt(row.length - 2) - zero);
      return new CompiledResource({ id, type, bytes: row.length, decode: () => factsOf(row, lists) }, generation);
    },
    view({ bytes, start, end, generation, lists }) {
      const id = bytes.toString("latin1", start + idStart, start + idStart + idLength);
      const type = typeOf((bytes[end - 2] ?? 0) - zero);
      const decode = () => factsOf(bytes.toString("utf8", start, end), lists);
      return new CompiledResource({ id, type, bytes: end - start, decode }, generation);
    },
  };
}

const zero = 48;

function typeOf(index: number): ResourceType {
  const type = resourceTypes[index];
  if (type === undefined) throw new RangeError(`${index} is not the index of a type of resources`);
  return type;
}
