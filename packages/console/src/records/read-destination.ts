/** Reads an address as people write it: a URL, a host with a port, a network. */

export interface Destination {
  /** A host name, a wildcard, an IP address or a CIDR block. */
  readonly address: string;
  /** Undefined for all ports. */
  readonly port: number | undefined;
}

/** Ports of the schemes that URLs of private services have. */
const ports: Readonly<Record<string, number>> = {
  http: 80,
  https: 443,
  mysql: 3306,
  postgres: 5432,
  postgresql: 5432,
  rdp: 3389,
  sftp: 22,
  smb: 445,
  ssh: 22,
};

const block = /^[0-9a-fA-F.:]+\/\d{1,3}$/;
/** An IPv6 address has at least two colons. A host with a port has one. */
const ipv6 = /^[0-9a-fA-F.]*:[0-9a-fA-F.]*:[0-9a-fA-F.:]*$/;

/** Returns undefined for text that names no destination. The server checks the address itself. */
export function readDestination(text: string): Destination | undefined {
  const trimmed = text.trim();
  if (block.test(trimmed) || ipv6.test(trimmed)) return { address: trimmed, port: undefined };
  const [, scheme, rest = ""] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(?:[^@/]*@)?(.*)$/i.exec(trimmed) ?? [];
  const authority = rest.split(/[/?#]/)[0] ?? "";
  const [, bracketed, plain, given] = /^(?:\[([^\]]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(authority) ?? [];
  const address = bracketed ?? plain;
  if (address === undefined) return undefined;
  const port = given === undefined ? (scheme === undefined ? undefined : ports[scheme.toLowerCase()]) : Number(given);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  return { address: address.toLowerCase(), port };
}

/** A name for the resource at an address: the first label of a host name, or the address. */
export function nameFor({ address }: Destination): string {
  const [label = ""] = address.replace(/^\*\./, "").split(".");
  return /^[a-z][a-z0-9-]*$/.test(label) ? `${label.charAt(0).toUpperCase()}${label.slice(1)}` : address;
}
