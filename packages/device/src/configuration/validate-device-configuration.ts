/** Validates configurations. No text of a configuration reaches another program before this. */

import { familyOf, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { isEndpoint, problemOf, repeated } from "@gatehouse/agent-core/configuration/validate-texts";
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
 * The schema of a signed configuration without its content. The signature and the format are checked before the
 * content.
 */
export const unreadConfiguration = {
  type: "object",
  additionalProperties: false,
  required: ["header", "signature", "content"],
  properties: { header: DeviceConfigurationHeader, signature: Signature, content: { type: "object" } },
} as const;
const isUnread = ajv.compile<UnreadConfiguration>(unreadConfiguration);

/** Whether a value is a signed configuration. Does not check the content. */
export function isUnreadConfiguration(value: unknown): value is UnreadConfiguration {
  return isUnread(value);
}

/** @returns what is wrong with a content; undefined: it is valid */
export function contentProblem(content: unknown): string | undefined {
  if (hasContentForm(content)) return valueProblem(content);
  const [error] = hasContentForm.errors ?? [];
  return `${error?.instancePath ?? ""} ${error?.message ?? "does not match the schema"}`.trim();
}

export function isDeviceConfiguration(content: unknown): content is DeviceConfigurationValue {
  return contentProblem(content) === undefined;
}

const notAName = "is not a host name, and not *.domain";

function isBlock(text: string): boolean {
  return parseIpBlock(text) !== undefined;
}

/** Checks what the schema's patterns cannot express: valid addresses and prefixes, and no repeated blocks. */
function valueProblem({ ipv4, ipv6, gateways, unserved, internet }: DeviceConfigurationValue): string | undefined {
  const addresses = gateways.flatMap((gateway) => gateway.addresses);
  const blocks = gateways.flatMap((gateway) => gateway.allowedIps);
  const { addresses: unservedBlocks, names: unservedNames } = unserved ?? { addresses: [], names: [] };
  const endpoints = gateways.flatMap(({ endpoint, relays }) => [
    ...(endpoint === undefined ? [] : [endpoint]),
    ...relays,
  ]);
  return (
    problemOf([ipv4], "/ipv4", (text) => familyOf(text) === 4, "is not an IPv4 address") ??
    problemOf([ipv6, ...addresses], "/gateways", (text) => familyOf(text) !== undefined, "is not an IP address") ??
    problemOf([ipv6], "/ipv6", (text) => familyOf(text) === 6, "is not an IPv6 address") ??
    problemOf(blocks, "/gateways", isBlock, "is not an address block") ??
    problemOf(unservedBlocks, "/unserved", isBlock, "is not an address block") ??
    problemOf(endpoints, "/gateways", isEndpoint, "is not host:port") ??
    problemOf(
      gateways.flatMap(({ names }) => names),
      "/gateways",
      isNamePattern,
      notAName,
    ) ??
    problemOf(unservedNames, "/unserved", isNamePattern, notAName) ??
    repeated(
      gateways.map(({ gateway }) => gateway),
      "/gateways",
    ) ??
    repeated(
      gateways.map(({ publicKey }) => publicKey),
      "/gateways",
    ) ??
    repeated(blocks, "/gateways") ??
    repeated([...blocks, ...unservedBlocks], "/unserved") ??
    repeated([ipv4, ipv6, ...addresses], "/gateways") ??
    (internet !== undefined && !gateways.some(({ gateway }) => gateway === internet)
      ? "/internet is not one of the gateways"
      : undefined)
  );
}

function isNamePattern(text: string): boolean {
  return /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/.test(text) && familyOf(text) === undefined;
}
