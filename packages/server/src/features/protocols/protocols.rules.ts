import type { ProblemField } from "@gatehouse/contract/problem";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";

export interface RequestedNetworkProtocol {
  readonly protocol: NetworkProtocol["protocol"];
  readonly port?: string | number;
}

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly ProblemField[] };

/** Ports in canonical form: ranges are ascending, and a range of one port is that port. */
function canonicalPort(port: string | number): string | { readonly problem: string } {
  const bounds = String(port).split("-").map(Number);
  const [low = 0, high = low] = bounds;
  if (low > high) return { problem: `the range ${port} ends before it starts` };
  return low === high ? String(low) : `${low}-${high}`;
}

/** Validates network protocols beyond their schema, and returns them in canonical form. */
export function canonicalNetworkProtocols(requested: readonly RequestedNetworkProtocol[]): Result<NetworkProtocol[]> {
  const errors: ProblemField[] = [];
  const canonical = new Map<string, NetworkProtocol>();
  for (const [index, { protocol, port }] of requested.entries()) {
    const pointer = `/networkProtocols/${index}/port`;
    if (port === undefined) {
      canonical.set(protocol, { protocol });
    } else if (protocol === "ICMP") {
      errors.push({ pointer, message: "ICMP has no ports" });
    } else {
      const text = canonicalPort(port);
      if (typeof text === "string") canonical.set(`${protocol}/${text}`, { protocol, port: text });
      else errors.push({ pointer, message: text.problem });
    }
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, value: [...canonical.values()] };
}

const longestName = 120;

/** A name generated from the content: "TCP/8443", "TCP/80, TCP/443", "ICMP". Long names are shortened. */
export function nameFromContent(networkProtocols: readonly NetworkProtocol[]): string {
  const name = networkProtocols
    .map(({ protocol, port }) => (port === undefined ? protocol : `${protocol}/${port}`))
    .join(", ");
  return shortened(name, "");
}

/** The name if it is free, or the first free one of "name (2)", "name (3)" and so on. */
export function numberedName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = shortened(name, ` (${number})`);
  return free;
}

/** The common prefix of all numbered forms of a name. */
export function stemOf(name: string): string {
  return name.slice(0, longestName - " (999999)…".length);
}

function shortened(name: string, end: string): string {
  const room = longestName - end.length;
  return name.length <= room ? name + end : `${name.slice(0, room - 1)}…${end}`;
}
