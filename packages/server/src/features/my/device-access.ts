/** Answers a device's question about its own access, with the reasons that the page of its person shows. */
import type { DeviceAnswer } from "@gatehouse/agent-protocol/device/frames";
import { decidingAtGateways } from "@gatehouse/policy/decisions/decide-at-gateways";
import {
  type DivertedAddress,
  type DivertedAddresses,
  findingDivertedAddresses,
} from "@gatehouse/policy/decisions/diverted-addresses";
import { explainingDecision, type OwnExplanation } from "@gatehouse/policy/decisions/explain-own";
import type { AccessRequest } from "@gatehouse/policy/decisions/request";
import {
  type DeviceSources,
  latestSource,
  sourceAt,
  sourcesAtGateways,
} from "@gatehouse/policy/enforcement/device-sources";
import type { Model } from "@gatehouse/policy/model/model";
import { portsOf } from "@gatehouse/policy/model/protocol-lists";
import type { Work } from "@gatehouse/policy/work";
import type { CommandRunner } from "../../platform/command.ts";
import { readDevicesOfUser } from "../devices/devices.api.ts";
import { destinationOf } from "./my-access.commands.ts";
import { myAnswer } from "./my-access.view.ts";
import { missingText } from "./my-access.words.ts";

/** The device that asks. */
export interface AskingDevice {
  readonly tenantId: string;
  readonly deviceId: string;
  readonly sources: DeviceSources;
  /** ISO 3166-1 alpha-2; null if unknown. */
  readonly country: string | null;
}

export type DeviceAccess = Pick<DeviceAnswer, "outcome" | "resource" | "reasons">;

const shownAddresses = 20;
const shownRanges = 50;
const shownReasons = 50;
const longestText = 2000;

/**
 * @param to name or id of a resource, a host name, or an IP address
 * @param now milliseconds since 1970
 * @throws AppError database_unavailable, evaluation_too_expensive, evaluation_rate_exceeded
 */
export async function explainToDevice(
  { models, database, evaluator }: Pick<CommandRunner, "models" | "database" | "evaluator">,
  { tenantId, deviceId, sources, country }: AskingDevice,
  to: string,
  now: number,
): Promise<DeviceAccess> {
  const tenant = await models.current(tenantId);
  const userId = tenant.model.devices.get(deviceId)?.facts.userId;
  if (userId === undefined || userId === null) return blockedBy("device_without_user");
  const rows = await database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
    readDevicesOfUser({ tenantId, query }, userId),
  );
  const devices = new Map(
    rows.map(({ device: { id, name, approval_pending: isPending, agent: hasAgent } }) => [
      id,
      { name, isPending, hasAgent, asks: id === deviceId },
    ]),
  );
  const request = {
    subject: { kind: "user", userId, deviceId },
    destination: destinationOf(tenant, to.trim()),
    now,
    ...(country === null ? {} : { country }),
  } as const;
  const work = explaining(tenant.model, request, sources, [...devices.keys()]);
  const explained = await evaluator.answerPerson(tenantId, userId, "The question of the device", work);
  const { reachable, missing } = myAnswer(explained, devices);
  const { diverted, resource } = explained;
  const isOutOfService = missing.length > 0 && missing.every(({ kind }) => kind === "no_gateway");
  const isUnavailable = diverted.isEverywhere || isOutOfService;
  return {
    outcome: isUnavailable ? "unavailable" : reachable ? "reachable" : "blocked",
    ...(resource === undefined ? {} : { resource: resourceIn(resource) }),
    reasons: [
      ...diverted.listed.map((each) => ({ kind: "other_gateway", text: divertedText(each) })),
      ...missing.map((fact) => ({ kind: fact.kind, text: missingText(fact, latestSource(sources) ?? undefined) })),
    ].slice(0, shownReasons),
  };
}

/** Decides with the address that counts at each gateway. Explains a denial with the address where the device is. */
function* explaining(
  model: Model,
  request: AccessRequest,
  sources: DeviceSources,
  ownDevices: readonly string[],
): Work<OwnExplanation & { readonly diverted: DivertedAddresses }> {
  const from = (sourceIp: string | null) => (sourceIp === null ? request : { ...request, sourceIp });
  const decide = (asked: AccessRequest) => decidingAtGateways(model, asked, sourcesAtGateways(sources));
  const asked = from(sourceAt(sources));
  const decision = yield* decide(asked);
  const explanation = yield* explainingDecision(model, from(latestSource(sources)), ownDevices, decision);
  return { ...explanation, diverted: yield* findingDivertedAddresses(model, asked, decision, decide) };
}

/** The person may reach both resources, so the name of the other one is not confidential. */
function divertedText({ address, routedFor }: DivertedAddress): string {
  const text = `Packets to ${address} go to a gateway of "${routedFor.name}" that does not carry this resource. Ask your administrator to connect both resources to a common gateway.`;
  return text.slice(0, longestText);
}

function blockedBy(kind: "device_without_user"): DeviceAccess {
  return { outcome: "blocked", reasons: [{ kind, text: "The user of this device was deleted. Enrol it again." }] };
}

type Explained = NonNullable<OwnExplanation["resource"]>;

function resourceIn({ facts: { id, name, addresses } }: Explained): NonNullable<DeviceAccess["resource"]> {
  return {
    id,
    name,
    addresses: addresses
      .slice(0, shownAddresses)
      .map(({ address, protocols }) => ({ address, tcp: portsOf(protocols).flatMap(tcpRanges).slice(0, shownRanges) })),
  };
}

/** Returns the TCP ports of a protocol as `first-last`. */
function tcpRanges({ protocol, port = "1-65535" }: { readonly protocol: string; readonly port?: string }): string[] {
  return protocol === "TCP" ? [port.includes("-") ? port : `${port}-${port}`] : [];
}
