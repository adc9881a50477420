/** Registers the agent's DNS server with systemd-resolved, for the names of the configuration only. */

import type { Log } from "@gatehouse/agent-core/log";
import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { gatewaysOfNames } from "../tunnel/wanted-tunnel.ts";

/**
 * The number of domains that systemd-resolved handles well. Beyond it, all names go to the agent, which forwards
 * others.
 */
const mostDomains = 200;

export interface ResolverSettingParts {
  readonly programs: ProgramRunner;
  readonly interfaceName: string;
  /** The address of the agent's DNS server, `address` or `address:port`. */
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

  /** Never rejects. The tunnel works without DNS, and failures are logged. */
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
    } catch (err) {
      log("failed to configure systemd-resolved", { err });
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
      log("systemd-resolved is not available", {
        server,
        remedy: `Add "nameserver ${address}" as the first line of /etc/resolv.conf.`,
      });
    }
    return this.#isResolved;
  }
}

/**
 * Returns routing domains. `~domain` covers a name and its subdomains; the agent forwards names that it does not know.
 */
export function routingDomains(names: readonly string[]): readonly string[] {
  const domains = [...new Set(names.map((name) => `~${name.replace(/^\*\./, "")}`))].sort();
  return domains.length > mostDomains ? ["~."] : domains;
}
