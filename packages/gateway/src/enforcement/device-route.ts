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
   * Must be called before the agent starts: it would take the route from its owner. Routes of other programs after the
   * agent's own one are unused.
   *
   * @throws Error if the addresses are routed to another interface, or another gateway agent has a route
   */
  async checkFree(): Promise<void> {
    const interfaces = await this.#interfaces();
    const other = await this.#gatewayAmong(interfaces);
    if (other !== undefined) throw new Error(otherGatewayText(other));
    const [first] = interfaces;
    if (first === undefined || first === this.#interfaceName) return;
    throw new Error(
      `The addresses of devices, ${DEVICE_POOL}, are routed to the interface ${first}. If nobody needs that route, delete it: ip route delete ${DEVICE_POOL} dev ${first}`,
    );
  }

  /** Returns the interface of another gateway agent that has the route; undefined if none has it. */
  async otherGateway(): Promise<string | undefined> {
    const interfaces = await this.#interfaces();
    // The kernel uses the first one.
    return interfaces[0] === this.#interfaceName ? undefined : this.#gatewayAmong(interfaces);
  }

  /** Returns the first interface of another gateway agent. */
  async #gatewayAmong(interfaces: readonly string[]): Promise<string | undefined> {
    for (const name of interfaces) {
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
  return `The addresses of devices, ${DEVICE_POOL}, are routed to the interface ${interfaceName} of another gateway agent. A network namespace can have only one gateway agent. Stop one of them and delete its interface, for example: ip link delete dev ${interfaceName}`;
}
