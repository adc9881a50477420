/** Closes the tunnel while another gateway agent has the route to devices. */
import { errorMessage } from "@gatehouse/agent-core/log";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { AgentParts } from "./agent-parts.ts";
import { closedTable } from "./enforcement/base-chains.ts";
import { otherGatewayText } from "./enforcement/device-route.ts";
import type { NftState } from "./enforcement/nft-state.ts";
import type { Repairs } from "./reports/repairs.ts";

/** The state in which the tunnel opens. */
export interface OpenState {
  readonly content: ConfigurationContent;
  readonly table: NftState;
}

/**
 * Answers to this tenant's devices would otherwise reach devices of the other agent that have the same addresses.
 * Nothing is lost by dropping all traffic: without the route, no device gets an answer. Taking the route would do the
 * same to the other agent, which would take it back.
 */
export class RouteGuard {
  readonly #parts: Pick<AgentParts, "kernel" | "wireGuard" | "log">;
  readonly #repairs: Repairs;
  /** The interface of the other agent. */
  #rival: string | undefined;
  #isClosed = false;
  /** The kernel does not have the closed table yet. */
  #mustClose = false;
  /** Connections from before the tunnel was closed remain. */
  #mustEndConnections = false;
  /** Why they could not be ended. */
  #openConnections: string | undefined;

  constructor(parts: Pick<AgentParts, "kernel" | "wireGuard" | "log">, repairs: Repairs) {
    this.#parts = parts;
    this.#repairs = repairs;
  }

  /** Whether all traffic must be dropped, from the loss of the route until the agent has it again. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether another agent had the route at the last check. */
  get hasRival(): boolean {
    return this.#rival !== undefined;
  }

  /** Why no configuration can be applied, with the remedy; undefined if the tunnel is open. */
  get obstacle(): string | undefined {
    if (!this.#isClosed) return undefined;
    return [this.#text(), ...(this.hasRival ? [] : this.#repairs.problems())].join(" ");
  }

  warnings(): readonly string[] {
    if (!this.#isClosed) return [];
    const connections = this.#openConnections;
    return [
      this.#text(),
      ...(connections === undefined
        ? []
        : [`Connections of devices cannot be ended, so answers may reach devices of that agent (${connections}).`]),
    ];
  }

  #text(): string {
    return this.#rival === undefined
      ? `All traffic of the interface ${this.#parts.wireGuard.name} is dropped until its routes and filters are restored.`
      : otherGatewayText(this.#rival);
  }

  /**
   * Closes the tunnel if another agent has the route, and opens it again when the agent has the route.
   *
   * @param open undefined: no configuration is enforced
   * @throws Error if the kernel refuses. The next check tries again
   */
  async check(open: () => OpenState | undefined): Promise<void> {
    const rival = await this.#parts.kernel.otherGateway();
    if (rival !== undefined) await this.#close(rival);
    else if (this.#isClosed) await this.#reopen(open());
  }

  async #close(rival: string): Promise<void> {
    const { log } = this.#parts;
    const isNew = rival !== this.#rival;
    // Whatever fails from here on, nothing may open the tunnel.
    this.#rival = rival;
    this.#isClosed = true;
    if (isNew) {
      this.#mustClose = true;
      this.#mustEndConnections = true;
      log("another gateway agent has the route to devices; dropping all traffic", { interface: rival });
    }
    await this.#applyClosedTable();
    if (this.#mustEndConnections) await this.#endConnections();
  }

  async #applyClosedTable(): Promise<void> {
    const { kernel, wireGuard } = this.#parts;
    if (this.#mustClose) await kernel.filter(closedTable(wireGuard.name));
    this.#mustClose = false;
  }

  async #endConnections(): Promise<void> {
    const { kernel, log } = this.#parts;
    const former = this.#openConnections;
    try {
      await kernel.endConnections();
      this.#mustEndConnections = false;
      this.#openConnections = undefined;
    } catch (error) {
      const reason = errorMessage(error);
      this.#openConnections = reason;
      if (reason !== former) log("failed to end the connections of devices; will retry", { reason });
    }
  }

  /** A part of the tunnel that cannot be restored keeps the tunnel closed only if that part is its routes. */
  async #reopen(open: OpenState | undefined): Promise<void> {
    const { kernel, log } = this.#parts;
    const former = this.#rival;
    this.#rival = undefined;
    this.#openConnections = undefined;
    if (former !== undefined) {
      log("no other gateway agent has the route to devices any more", { interface: former });
    }
    if (open !== undefined) {
      await this.#repairs.record(kernel.repairTunnel(open.content), log);
      if (this.#repairs.hasProblem("routes")) return this.#applyClosedTable();
      await kernel.filter(open.table);
    }
    this.#isClosed = false;
  }
}
