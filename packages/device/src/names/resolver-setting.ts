/** Points the machine's programs at the agent's DNS, where systemd-resolved lets that be done for some names alone. */

import type { Log } from "@gatehouse/agent-core/log";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { gatewaysOfNames } from "../tunnel/wanted-tunnel.ts";

/** systemd-resolved takes so many domains for an interface with ease; of more, all names are asked of the agent, which passes others on. */
const mostDomains = 200;

export interface ResolverSettingParts {
  readonly programs: ProgramRunner;
  readonly interfaceName: string;
  /** Where the agent answers, `address` or `address:port`. */
  readonly server: string;
  readonly log: Log;
}

export class ResolverSetting {
  readonly #parts: ResolverSettingParts;
  #isResolved: boolean | undefined;
  #set = "";

  constructor(parts: ResolverSettingParts) {
    this.#parts = parts;
  }

  /** Never rejects: names are a convenience beside the tunnel, and the log says what failed. */
  async follow(configuration: DeviceConfiguration | undefined): Promise<void> {
    const { programs, interfaceName, server, log } = this.#parts;
    const domains = configuration === undefined ? [] : routingDomains(Object.keys(gatewaysOfNames(configuration)));
    if (configuration === undefined) this.#set = "";
    if (domains.length === 0 && this.#set === "") return;
    if (!(await this.#hasResolved())) return;
    const wanted = domains.join(" ");
    if (wanted === this.#set) return;
    try {
      if (domains.length === 0) {
        await programs.change("resolvectl", ["revert", interfaceName]);
      } else {
        await programs.change("resolvectl", ["dns", interfaceName, server]);
        await programs.change("resolvectl", ["default-route", interfaceName, "no"]);
        await programs.change("resolvectl", ["domain", interfaceName, ...domains]);
      }
      this.#set = wanted;
    } catch (error) {
      log(`systemd-resolved does not ask the agent: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #hasResolved(): Promise<boolean> {
    if (this.#isResolved !== undefined) return this.#isResolved;
    const { programs, server, log } = this.#parts;
    this.#isResolved = await programs.read("resolvectl", ["status"]).then(
      () => true,
      () => false,
    );
    if (!this.#isResolved) {
      const [address = server] = server.split(":");
      log(
        `Names of the network are answered at ${server}. There is no systemd-resolved to tell: put "nameserver ${address}" first into /etc/resolv.conf.`,
      );
    }
    return this.#isResolved;
  }
}

/** `~domain` sends a name and all below it, so an exact name is one too; the agent passes on what it does not know. */
export function routingDomains(names: readonly string[]): readonly string[] {
  const domains = [...new Set(names.map((name) => `~${name.replace(/^\*\./, "")}`))].sort();
  return domains.length > mostDomains ? ["~."] : domains;
}
