/** Validates configurations. No text of a configuration reaches another program before this. */

import { familyOf, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { isEndpoint, problemOf, repeated } from "@gatehouse/agent-core/configuration/validate-texts";
import {
  type ConfigurationContent,
  SignedConfiguration,
  type SignedConfiguration as SignedConfigurationValue,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { Ajv } from "ajv";
import formats from "ajv-formats";

const ajv = new Ajv({ strict: false });
formats.default(ajv, ["uuid"]);
const hasForm = ajv.compile<SignedConfigurationValue>(SignedConfiguration);

/** The configuration, or what is wrong with it. */
export type ValidatedConfiguration =
  | { readonly configuration: SignedConfigurationValue }
  | { readonly problem: string };

export function validateConfiguration(value: unknown): ValidatedConfiguration {
  if (!hasForm(value)) {
    const [error] = hasForm.errors ?? [];
    const name =
      error?.params !== undefined && "propertyName" in error.params
        ? ` ${JSON.stringify(error.params.propertyName)}`
        : "";
    return { problem: `${error?.instancePath ?? ""}${name} ${error?.message ?? "does not match the schema"}` };
  }
  const problem = contentProblem(value.content);
  return problem === undefined ? { configuration: value } : { problem };
}

/** Checks what the schema's patterns cannot express, such as valid addresses and prefixes. */
function contentProblem({
  settings,
  peers,
  classes,
  resources,
  destinations,
}: ConfigurationContent): string | undefined {
  const { interface: own, dns, relay, drain } = settings;
  const notBlocks = (texts: readonly string[], place: string) =>
    problemOf(texts, place, (text) => parseIpBlock(text) !== undefined, "is not an address block");
  const notAddresses = (texts: readonly string[], place: string, family?: 4 | 6) =>
    problemOf(
      texts,
      place,
      (text) => familyOf(text) !== undefined && (family === undefined || familyOf(text) === family),
      family === undefined ? "is not an IP address" : `is not an IPv${family} address`,
    );
  const pools = own.pools.map(parseIpBlock).filter((pool) => pool !== undefined);
  const outsidePools = (texts: readonly string[], place: string) =>
    problemOf(texts, place, (text) => isWithin(text, pools), "is outside the tenant's pools");
  const peerEntries = Object.entries(peers);
  const peerIpv6 = peerEntries.map(([, peer]) => peer.ipv6);
  return (
    notAddresses([own.ipv4], "/settings/interface/ipv4", 4) ??
    notAddresses([own.ipv6], "/settings/interface/ipv6", 6) ??
    notBlocks(own.pools, "/settings/interface/pools") ??
    problemOf(own.pools, "/settings/interface/pools", (text) => !text.endsWith("/0"), "covers all addresses") ??
    notAddresses([...dns.resolvers, ...dns.domains.flatMap((domain) => domain.resolvers)], "/settings/dns") ??
    notBlocks(dns.networks ?? [], "/settings/dns") ??
    problemOf(
      (relay ?? []).map(({ endpoint }) => endpoint),
      "/settings/relay",
      isEndpoint,
      "is not host:port",
    ) ??
    repeated(
      (relay ?? []).map(({ listenPort }) => String(listenPort)),
      "/settings/relay",
    ) ??
    (drain !== undefined && drain.until < drain.since ? "/settings/drain ends before it starts" : undefined) ??
    notAddresses(Object.keys(peers), "/peers", 4) ??
    notAddresses(peerIpv6, "/peers", 6) ??
    outsidePools([...Object.keys(peers), ...peerIpv6], "/peers") ??
    repeated(peerIpv6, "/peers") ??
    repeated(
      peerEntries.map(([, { publicKey }]) => publicKey),
      "/peers",
    ) ??
    notBlocks(
      peerEntries.flatMap(([, peer]) => (peer.kind === "site" ? peer.networks : [])),
      "/peers",
    ) ??
    problemOf(
      peerEntries.flatMap(([, peer]) => (peer.kind === "site" && peer.endpoint !== undefined ? [peer.endpoint] : [])),
      "/peers",
      isEndpoint,
      "is not host:port",
    ) ??
    notAddresses([...new Set(Object.values(classes).flatMap((members) => Object.keys(members)))], "/classes", 4) ??
    notBlocks(
      Object.values(resources).flatMap(({ sites }) => sites.flatMap(({ sources }) => sources)),
      "/resources",
    ) ??
    notBlocks(
      Object.keys(destinations).filter((key) => key.includes("/")),
      "/destinations",
    ) ??
    notBlocks(
      Object.values(destinations).flatMap(({ answers }) => (typeof answers === "object" ? answers : [])),
      "/destinations",
    ) ??
    problemOf(
      Object.keys(destinations),
      "/destinations",
      (key) => key.includes("/") || (familyOf(key) === undefined && !/^[0-9.]+$/.test(key)),
      "is not a name, and not an address with its prefix length",
    ) ??
    Object.values(destinations)
      .flatMap(({ services }) => services)
      .map(({ ports }) =>
        ports !== undefined && ports[0] > ports[1]
          ? `/destinations: ${ports.join("-")} is not a port range`
          : undefined,
      )
      .find((problem) => problem !== undefined)
  );
}
