/**
 * The route to the tunnel addresses of devices. All tenants use the same IPv4 addresses, so only one gateway agent can
 * have this route in a network namespace.
 */
import { DEVICE_POOL } from "@gatehouse/addresses/special-purpose";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import { kernelRoutes } from "@gatehouse/agent-core/wireguard/kernel-routes";

export class DeviceRoute {
  readonly #interfaceName: string;
  readonly #programs: ProgramRunner;

  constructor(interfaceName: string, programs: ProgramRunner) {
    this.#interfaceName = interfaceName;
    this.#programs = programs;
  }

  /**
   * Must be called before the agent starts: it would take the route from its owner.
   *
   * @throws Error if the addresses are routed to another interface
   */
  async checkFree(): Promise<void> {
    const other = (await this.#interfaces()).find((name) => name !== this.#interfaceName);
    if (other === undefined) return;
    if (await this.#isOfGateway(other)) throw new Error(otherGatewayText(other));
    throw new Error(
      `${DEVICE_POOL}, the addresses of devices, are routed to the interface ${other}. If nobody needs that route, delete it: ip route delete ${DEVICE_POOL} dev ${other}`,
    );
  }

  /** Returns the interface of another gateway agent that has the route; undefined if none has it. */
  async otherGateway(): Promise<string | undefined> {
    const [first, ...others] = await this.#interfaces();
    // The kernel uses the first one.
    if (first === undefined || first === this.#interfaceName) return undefined;
    for (const name of [first, ...others]) {
      if (name !== this.#interfaceName && (await this.#isOfGateway(name))) return name;
    }
    return undefined;
  }

  /** Returns the interfaces that have the route, in the order of metrics. */
  async #interfaces(): Promise<readonly string[]> {
    const routes = await kernelRoutes(this.#programs, "-4", ["table", "main", "exact", DEVICE_POOL]);
    return routes.flatMap(({ dev, nexthops = [] }) =>
      [dev, ...nexthops.map((hop) => hop.dev)].filter((name) => name !== undefined),
    );
  }

  /** Whether the interface has the filters of a gateway agent, running or not. */
  async #isOfGateway(interfaceName: string): Promise<boolean> {
    const tables = await this.#programs.read("nft", ["list", "tables", "inet"]);
    return tables.split("\n").includes(`table inet gatehouse-${interfaceName}`);
  }
}

/** Returns why this agent drops all traffic, or does not start, with the remedy. */
export function otherGatewayText(interfaceName: string): string {
  return `${DEVICE_POOL}, the addresses of devices, are routed to the interface ${interfaceName} of another gateway agent. A network namespace can have one gateway agent. Stop one of them and delete its interface, for example: ip link delete dev ${interfaceName}`;
}
