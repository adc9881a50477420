/** The parts of a signed configuration that gateways and devices share: its name, its order, and its signature. */
import { Moment } from "@gatehouse/contract/network-values";
import { closedObject } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { canonicalJson } from "./canonical-json.ts";
import { counter } from "./frames.ts";
import type { HashText } from "./hash-tree.ts";

/** How long an agent may enforce a configuration without the control plane. */
export const defaultValidityMs = 24 * 3_600_000;

/** SHA-256 in lower-case hexadecimal. */
export const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });
/** An Ed25519 signature in base64. */
export const Signature = Type.String({ pattern: "^[A-Za-z0-9+/]{86}==$" });
/** An Ed25519 public key: 32 bytes in base64. */
export const SigningKey = Type.String({ pattern: "^[A-Za-z0-9+/]{43}=$" });

/** Identifies a configuration. The hash is of its header. */
export const ConfigurationName = closedObject({ generation: counter, issuedAt: Moment, hash: Sha256 });
export type ConfigurationName = Static<typeof ConfigurationName>;

/** Whether a signature (base64) of a text's UTF-8 is by a key (Ed25519, base64). */
export type VerifyText = (text: string, signature: string, signingKey: string) => boolean;

/** The header fields that identify and order configurations. */
type NamedHeader = Readonly<Record<string, string | number>> & Pick<ConfigurationName, "generation" | "issuedAt">;

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
