/** The parts of a signed configuration that gateways and devices share: its name, its order, and its signature. */
import { Moment } from "@gatehouse/contract/network-values";
import { closedObject } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { canonicalJson } from "./canonical-json.ts";
import { counter } from "./frames.ts";
import type { HashText } from "./hash-tree.ts";

/** SHA-256 in lower-case hexadecimal. */
export const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });
/** A placeholder hash that matches no content. */
export const unusedHash = "0".repeat(64);
/** An Ed25519 signature in base64. */
export const Signature = Type.String({ pattern: "^[A-Za-z0-9+/]{86}==$" });
/** An Ed25519 public key: 32 bytes in base64. */
export const SigningKey = Type.String({ pattern: "^[A-Za-z0-9+/]{43}=$" });

/** Identifies a configuration. The hash is of its header. */
export const ConfigurationName = closedObject({ generation: counter, issuedAt: Moment, hash: Sha256 });
export type ConfigurationName = Static<typeof ConfigurationName>;

/** Whether a signature (base64) of a text's UTF-8 is by a key (Ed25519, base64). */
export type VerifyText = (text: string, signature: string, signingKey: string) => boolean;

/** A header of any kind: the fields that identify and order it, and others. */
export type NamedHeader = Readonly<Record<string, string | number>> &
  Pick<ConfigurationName, "generation" | "issuedAt">;

/** Returns the name of the configuration with this header. */
export function configurationName(header: NamedHeader, sha256: HashText): ConfigurationName {
  const { generation, issuedAt } = header;
  return { generation, issuedAt, hash: sha256(canonicalJson(header)) };
}

/** Compares two configurations: positive if the first is later, 0 if neither is. */
export function compareOrder(
  a: Pick<ConfigurationName, "generation" | "issuedAt">,
  b: Pick<ConfigurationName, "generation" | "issuedAt">,
): number {
  return a.generation - b.generation || a.issuedAt - b.issuedAt;
}

/** The fields of every header that an agent checks. */
interface CheckedHeader extends Pick<ConfigurationName, "generation" | "issuedAt"> {
  readonly format: number;
  readonly tenant: string;
  readonly expiresAt: number;
}

/** The values that an agent checks a header against. */
export interface HeaderExpectation {
  /** Undefined until the first link or configuration has set it. */
  readonly tenant: string | undefined;
  /** The pinned key, base64. */
  readonly signingKey: string;
  /** The latest configuration that the agent ever enforced, across restarts; undefined: none. */
  readonly latest: ConfigurationName | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The part of the check that depends on the kind of agent. */
interface HeaderKind {
  readonly domain: string;
  readonly format: number;
  /** Whether the header names this gateway or device. */
  readonly isForAgent: boolean;
}

export type HeaderFault = "forged" | "unknown_format" | "expired" | "replayed";

/**
 * Returns why a configuration must not be enforced, judged by its header; undefined: it is acceptable.
 * The signature is checked first, because the other fields of a forged header mean nothing.
 */
export function headerFault(
  { header, signature }: { readonly header: CheckedHeader & NamedHeader; readonly signature: string },
  { domain, format, isForAgent }: HeaderKind,
  { tenant, signingKey, latest, now }: HeaderExpectation,
  { sha256, verify }: { readonly sha256: HashText; readonly verify: VerifyText },
): HeaderFault | undefined {
  const name = configurationName(header, sha256);
  if (!verify(signedTextOf(domain, name), signature, signingKey)) return "forged";
  if (!isForAgent || (tenant !== undefined && header.tenant !== tenant)) return "forged";
  if (header.format !== format) return "unknown_format";
  if (header.expiresAt <= now) return "expired";
  if (latest === undefined || latest.hash === name.hash) return undefined;
  return compareOrder(name, latest) > 0 ? undefined : "replayed";
}

/** Returns the text that is signed for a configuration. The domain separates the purposes of signatures. */
export function signedTextOf(domain: string, { hash }: Pick<ConfigurationName, "hash">): string {
  return `${domain}\n${hash}`;
}
