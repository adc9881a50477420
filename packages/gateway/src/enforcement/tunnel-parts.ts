/** The parts of the tunnel, which are repaired independently. */
import { errorMessage } from "@gatehouse/agent-core/log";

/** A part of the tunnel that another program can change or remove. */
export type TunnelPart =
  | "interface"
  | "private key"
  | "listen port"
  | "peers"
  | "addresses"
  | "routes"
  | "forwarding"
  | "IPv6";

/** A part of the tunnel that another program changed. */
export interface PartRepair {
  readonly part: TunnelPart;
  /** Why the part may still differ; absent if it is restored. */
  readonly problem?: string;
}

/** Sets a part of the tunnel. Returns whether another program changed it since the last call. */
export type Step = readonly [part: TunnelPart, set: () => Promise<boolean>];

/** @returns the part if another program changed it; undefined if it is intact */
export async function resultOf(part: TunnelPart, set: () => Promise<boolean>): Promise<PartRepair | undefined> {
  try {
    return (await set()) ? { part } : undefined;
  } catch (error) {
    return { part, problem: errorMessage(error) };
  }
}
