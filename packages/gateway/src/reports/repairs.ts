/**
 * Repairs of what other programs changed, which heartbeats report for some time, and parts that cannot be restored,
 * which heartbeats report until they are intact.
 */
import type { Clock } from "@gatehouse/agent-core/clock";
import type { Log } from "@gatehouse/agent-core/log";
import type { PartRepair, TunnelPart } from "../enforcement/tunnel-parts.ts";

type RepairedPart = "filters" | TunnelPart;

/** How long heartbeats report a repair. */
const reportedMs = 10 * 60_000;

/** Returns the part and its change, for the log. */
function repairText(part: TunnelPart): string {
  if (part === "forwarding") return "forwarding, which another program disabled";
  return `the ${part}, which another program ${part === "interface" ? "removed" : "changed"}`;
}

export class Repairs {
  readonly #interfaceName: string;
  readonly #clock: Clock;
  /** When each part was last restored, in milliseconds since 1970. */
  readonly #repairedAt = new Map<RepairedPart, number>();
  /** Why parts cannot be restored now. */
  #problems: ReadonlyMap<TunnelPart, string> = new Map();

  constructor(interfaceName: string, clock: Clock) {
    this.#interfaceName = interfaceName;
    this.#clock = clock;
  }

  recordFilters(): void {
    this.#repairedAt.set("filters", this.#clock.now());
  }

  /** Records the repairs of a check of the tunnel, and logs them. A problem is logged when it begins and ends. */
  async record(repairs: AsyncIterable<PartRepair>, log: Log): Promise<void> {
    const problems = new Map<TunnelPart, string>();
    for await (const { part, problem } of repairs) {
      if (problem === undefined) {
        this.#repairedAt.set(part, this.#clock.now());
        log(`restored ${repairText(part)}`, { interface: this.#interfaceName });
      } else problems.set(part, problem);
    }
    for (const [part, problem] of problems) {
      if (!this.#problems.has(part)) log("failed to restore a part of the tunnel; will retry", { part, problem });
    }
    for (const part of this.#problems.keys()) {
      if (!problems.has(part)) log("part of the tunnel is intact again", { part });
    }
    this.#problems = problems;
  }

  /** Without a configuration, the tunnel has no parts. */
  clearProblems(): void {
    this.#problems = new Map();
  }

  /** Whether the part could not be restored at the last check. */
  hasProblem(part: TunnelPart): boolean {
    return this.#problems.has(part);
  }

  /** Returns warnings about parts that cannot be restored now. */
  problems(): readonly string[] {
    return Array.from(this.#problems, ([part, problem]) => {
      if (part === "forwarding") return problem;
      if (part === "IPv6") return `Devices reach nothing over IPv6 through this gateway. ${problem}`;
      const name = this.#interfaceName;
      return part === "interface"
        ? `The interface ${name} cannot be created (${problem}).`
        : `The ${part} of the interface ${name} cannot be restored (${problem}).`;
    });
  }

  /** Returns warnings about past repairs. */
  warnings(): readonly string[] {
    const from = this.#clock.now() - reportedMs;
    return [...this.#repairedAt].flatMap(([part, at]) => (at < from ? [] : [this.#warning(part, at)]));
  }

  #warning(part: RepairedPart, at: number): string {
    const name = this.#interfaceName;
    const time = new Date(at).toISOString();
    if (part === "filters") {
      return `Another program changed the nftables table of the agent. The agent restored it at ${time}.`;
    }
    if (part === "interface") return `Another program removed the interface ${name}. The agent restored it at ${time}.`;
    if (part === "forwarding") {
      return `Another program disabled forwarding between interfaces. The agent enabled it at ${time}.`;
    }
    if (part === "private key" || part === "listen port") {
      return `Another program changed the ${part} of the interface ${name}. The agent restored it at ${time}.`;
    }
    const what = part === "addresses" ? "addresses, the MTU or the state" : part;
    return `Another program changed the ${what} of the interface ${name}. The agent restored them at ${time}.`;
  }
}
