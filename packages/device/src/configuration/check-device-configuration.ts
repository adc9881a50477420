/** The form of what a device is given: nothing of it reaches another program before it has been through here. */

import { familyOf, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { isEndpoint, problemOf, repeated } from "@gatehouse/agent-core/configuration/text-checks";
import { DeviceConfigurationHeader } from "@gatehouse/agent-protocol/device/configuration";
import type { UnreadConfiguration } from "@gatehouse/agent-protocol/device/envelope";
import { Signature } from "@gatehouse/agent-protocol/link/envelope";
import {
  DeviceConfiguration,
  type DeviceConfiguration as DeviceConfigurationValue,
} from "@gatehouse/contract/records/device-configuration";
import { Ajv } from "ajv";
import formats from "ajv-formats";

const ajv = new Ajv({ strict: false, ownProperties: true });
formats.default(ajv, ["uuid"]);
const hasContentForm = ajv.compile<DeviceConfigurationValue>(DeviceConfiguration);

/**
 * The schema of a signed configuration of which the content is not looked at: whether a device knows its format is asked first, and the
 * signature before that.
 */
export const unreadConfiguration = {
  type: "object",
  additionalProperties: false,
  required: ["header", "signature", "content"],
  properties: { header: DeviceConfigurationHeader, signature: Signature, content: { type: "object" } },
} as const;
const isUnread = ajv.compile<UnreadConfiguration>(unreadConfiguration);

/** Whether a value is a signed configuration, as far as one can tell without its content. */
export function isUnreadConfiguration(value: unknown): value is UnreadConfiguration {
  return isUnread(value);
}

/** @returns what is wrong with a content; undefined: nothing */
export function contentProblem(content: unknown): string | undefined {
  if (hasContentForm(content)) return valueProblem(content);
  const [error] = hasContentForm.errors ?? [];
  return `${error?.instancePath ?? ""} ${error?.message ?? "does not have its form"}`.trim();
}

export function isDeviceConfiguration(content: unknown): content is DeviceConfigurationValue {
  return contentProblem(content) === undefined;
}

/** What the schema's patterns cannot say: that an address is one, that prefixes end where their bits do, and that no block is there twice. */
function valueProblem({ ipv4, ipv6, gateways, internet }: DeviceConfigurationValue): string | undefined {
  const addresses = gateways.flatMap((gateway) => gateway.addresses);
  const blocks = gateways.flatMap((gateway) => gateway.allowedIps);
  const endpoints = gateways.flatMap(({ endpoint, relays }) => [
    ...(endpoint === undefined ? [] : [endpoint]),
    ...relays,
  ]);
  return (
    problemOf([ipv4], "/ipv4", (text) => familyOf(text) === 4, "is not an IPv4 address") ??
    problemOf([ipv6, ...addresses], "/gateways", (text) => familyOf(text) !== undefined, "is not an IP address") ??
    problemOf([ipv6], "/ipv6", (text) => familyOf(text) === 6, "is not an IPv6 address") ??
    problemOf(blocks, "/gateways", (text) => parseIpBlock(text) !== undefined, "is not an address block") ??
    problemOf(endpoints, "/gateways", isEndpoint, "is not host:port") ??
    problemOf(
      gateways.flatMap(({ names }) => names),
      "/gateways",
      isNamePattern,
      "is neither a host name nor *.domain",
    ) ??
    repeated(
      gateways.map(({ gateway }) => gateway),
      "/gateways",
    ) ??
    repeated(
      gateways.map(({ publicKey }) => publicKey),
      "/gateways",
    ) ??
    repeated(blocks, "/gateways") ??
    repeated([ipv4, ipv6, ...addresses], "/gateways") ??
    (internet !== undefined && !gateways.some(({ gateway }) => gateway === internet)
      ? "/internet is none of the gateways"
      : undefined)
  );
}

function isNamePattern(text: string): boolean {
  return /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/.test(text) && familyOf(text) === undefined;
}
