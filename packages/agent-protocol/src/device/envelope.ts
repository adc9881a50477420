import { canonicalJson, type JsonValue } from "../link/canonical-json.ts";
import type { ConfigurationName } from "../link/envelope.ts";
import { compareOrder, configurationName, type VerifyText } from "../link/envelope.ts";
import type { HashText } from "../link/hash-tree.ts";
import {
  type DeviceConfigurationHeader,
  deviceConfigurationFormat,
  deviceConfigurationSignatureDomain,
} from "./configuration.ts";
import type { DeviceFailureReason } from "./frames.ts";

/** The text that is signed for a configuration. */
export function deviceSignedText({ hash }: Pick<ConfigurationName, "hash">): string {
  return `${deviceConfigurationSignatureDomain}\n${hash}`;
}

/** What `header.content` has to be: any JSON, as its form is asked after its signature. */
export function deviceContentHash(content: unknown, sha256: HashText): string {
  return sha256(canonicalJson(content as JsonValue)); // what was read as JSON is JSON
}

/** What a device holds a configuration against. */
export interface DeviceExpectation {
  readonly device: string;
  /** Undefined until the first link has told it. */
  readonly tenant: string | undefined;
  /** The pinned one, base64. */
  readonly signingKey: string;
  /** The latest configuration that the device ever used, over restarts too; undefined: none. */
  readonly latest: ConfigurationName | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface DeviceFunctions {
  readonly sha256: HashText;
  readonly verify: VerifyText;
  /** Whether a content has its form, so that all of it may be handed to other programs. */
  readonly hasForm: (content: unknown) => boolean;
}

/** A configuration of which only the outer form is known. */
export interface UnreadConfiguration {
  readonly header: DeviceConfigurationHeader;
  readonly signature: string;
  readonly content: unknown;
}

/**
 * Why a configuration must not be used; undefined: nothing speaks against it. In the order of SPEC.md: the signature is asked first, as
 * nothing else of what is forged means anything.
 */
export function deviceConfigurationFault(
  { header, signature, content }: UnreadConfiguration,
  expected: DeviceExpectation,
  { sha256, verify, hasForm }: DeviceFunctions,
): Exclude<DeviceFailureReason, "not_applied"> | undefined {
  const name = configurationName(header, sha256);
  if (!verify(deviceSignedText(name), signature, expected.signingKey)) return "forged";
  if (header.device !== expected.device) return "forged";
  if (expected.tenant !== undefined && header.tenant !== expected.tenant) return "forged";
  if (header.format !== deviceConfigurationFormat) return "unknown_format";
  if (header.expiresAt <= expected.now) return "expired";
  const { latest } = expected;
  if (latest !== undefined && latest.hash !== name.hash && compareOrder(name, latest) <= 0) return "replayed";
  return hasForm(content) && hashOf(content, sha256) === header.content ? undefined : "malformed";
}

/** @returns undefined for what cannot be hashed, such as fractions: nobody has signed it */
function hashOf(content: unknown, sha256: HashText): string | undefined {
  try {
    return deviceContentHash(content, sha256);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
