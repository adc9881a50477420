import { canonicalJson, type JsonValue } from "../link/canonical-json.ts";
import type { ConfigurationName, HeaderExpectation, VerifyText } from "../link/envelope.ts";
import { headerFault, signedTextOf } from "../link/envelope.ts";
import type { HashText } from "../link/hash-tree.ts";
import {
  type DeviceConfigurationHeader,
  deviceConfigurationFormat,
  deviceConfigurationSignatureDomain,
} from "./configuration.ts";
import type { DeviceFailureReason } from "./frames.ts";

/** Returns the text that is signed for a configuration. */
export function deviceSignedText(name: Pick<ConfigurationName, "hash">): string {
  return signedTextOf(deviceConfigurationSignatureDomain, name);
}

/**
 * Returns the required value of `header.content`. The content may be any JSON, because its signature is checked first.
 */
export function deviceContentHash(content: unknown, sha256: HashText): string {
  return sha256(canonicalJson(content as JsonValue)); // the content was parsed from JSON
}

/** The values that a device checks a configuration against. */
export interface DeviceExpectation extends HeaderExpectation {
  readonly device: string;
}

export interface DeviceFunctions {
  readonly sha256: HashText;
  readonly verify: VerifyText;
  /** Whether a content matches its schema, so that all of it may be passed to other programs. */
  readonly hasForm: (content: unknown) => boolean;
}

/** A configuration whose content has not been validated. */
export interface UnreadConfiguration {
  readonly header: DeviceConfigurationHeader;
  readonly signature: string;
  readonly content: unknown;
}

/** Returns why a configuration must not be used, in the order of SPEC.md; undefined: it is acceptable. */
export function deviceConfigurationFault(
  configuration: UnreadConfiguration,
  expected: DeviceExpectation,
  { sha256, verify, hasForm }: DeviceFunctions,
): Exclude<DeviceFailureReason, "not_applied"> | undefined {
  const { header, content } = configuration;
  const isForAgent = header.device === expected.device;
  const kind = { domain: deviceConfigurationSignatureDomain, format: deviceConfigurationFormat, isForAgent };
  const fault = headerFault(configuration, kind, expected, { sha256, verify });
  if (fault !== undefined) return fault;
  return hasForm(content) && hashOf(content, sha256) === header.content ? undefined : "malformed";
}

/** Returns undefined for content that has no canonical form, such as fractions. Nobody has signed such content. */
function hashOf(content: unknown, sha256: HashText): string | undefined {
  try {
    return deviceContentHash(content, sha256);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
