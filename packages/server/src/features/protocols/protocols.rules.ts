import type { ProblemField } from "@gatehouse/contract/problem";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";

export interface RequestedNetworkProtocol {
  readonly protocol: NetworkProtocol["protocol"];
  readonly port?: string | number;
}

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly ProblemField[] };

/** Ports as they are stored: a range goes from lower to higher, and one of a single port is that port. */
function canonicalPort(port: string | number): string | { readonly problem: string } {
  const bounds = String(port).split("-").map(Number);
  const [low = 0, high = low] = bounds;
  if (low > high) return { problem: `the range ${port} ends before it starts` };
  return low === high ? String(low) : `${low}-${high}`;
}

/** Checks what the schema cannot tell, and brings every entry into the form that is stored. */
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

/** A name made from the content: "TCP/8443", "TCP/80, TCP/443", "ICMP". Shortened when it would be too long. */
export function nameFromContent(networkProtocols: readonly NetworkProtocol[]): string {
  const name = networkProtocols
    .map(({ protocol, port }) => (port === undefined ? protocol : `${protocol}/${port}`))
    .join(", ");
  return shortened(name, "");
}

/** The name itself where it is free, else the first of "name (2)", "name (3)" … that is. */
export function numberedName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = shortened(name, ` (${number})`);
  return free;
}

/** The part of a name that every numbered form of it starts with, whatever the number. */
export function stemOf(name: string): string {
  return name.slice(0, longestName - " (999999)…".length);
}

function shortened(name: string, end: string): string {
  const room = longestName - end.length;
  return name.length <= room ? name + end : `${name.slice(0, room - 1)}…${end}`;
}
