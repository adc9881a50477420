/** Every place where a document names another record. */
import type { Configuration, ConfiguredKind } from "@gatehouse/contract/records/configuration";
import { policyTypes } from "@gatehouse/contract/records/policy";
import { emailKey } from "./settings.ts";

export interface DocumentReference {
  readonly kind: ConfiguredKind | "device";
  /** What the record is found by. */
  readonly key: string;
  /** JSON Pointer of the name. */
  readonly pointer: string;
}

export function* documentReferences(document: Configuration): Generator<DocumentReference> {
  for (const [index, { groups }] of (document.users ?? []).entries()) {
    yield* named("group", groups, `/users/${index}/groups`);
  }
  for (const [index, { gateways, addresses = [] }] of (document.resources ?? []).entries()) {
    yield* named("gateway", gateways, `/resources/${index}/gateways`);
    for (const [place, { protocols }] of addresses.entries()) {
      yield* named("protocol", protocols, `/resources/${index}/addresses/${place}/protocols`);
    }
  }
  for (const type of policyTypes) {
    for (const [index, policy] of (document.policies?.[type] ?? []).entries()) {
      const at = `/policies/${type}/${index}`;
      yield* named("group", policy.groups, `${at}/groups`);
      yield* named("user", policy.users?.map(emailKey), `${at}/users`);
      for (const [place, { publicKey }] of (policy.devices ?? []).entries()) {
        yield { kind: "device", key: publicKey, pointer: `${at}/devices/${place}/publicKey` };
      }
      yield* named("resource", policy.resources, `${at}/resources`);
      yield* named("gateway", policy.gateways, `${at}/gateways`);
      if (policy.rule !== undefined) yield { kind: "admission-rule", key: policy.rule, pointer: `${at}/rule` };
    }
  }
  yield* named("gateway", document.defaultInternetPolicy?.gateways, "/defaultInternetPolicy/gateways");
}

function* named(
  kind: ConfiguredKind,
  keys: readonly string[] | undefined,
  pointer: string,
): Generator<DocumentReference> {
  for (const [index, key] of (keys ?? []).entries()) yield { kind, key, pointer: `${pointer}/${index}` };
}

/** The public keys of all devices that policies of the document name. */
export function namedDevices(document: Configuration): readonly string[] {
  const policies = policyTypes.flatMap((type) => document.policies?.[type] ?? []);
  return [...new Set(policies.flatMap(({ devices = [] }) => devices.map(({ publicKey }) => publicKey)))];
}
