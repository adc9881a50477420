/**
 * Repairs of what other programs changed, which heartbeats report for some time, and parts that cannot be restored,
 * which heartbeats report until they are intact.
 */
import type { Clock } from "@gatehouse/agent-core/clock";
import type { TunnelPart } from "../enforcement/kernel.ts";

type RepairedPart = "filters" | TunnelPart;

/** How long heartbeats report a repair. */
const reportedMs = 10 * 60_000;

/** Returns the part and its change, for the log. */
export function repairText(part: TunnelPart): string {
  if (part === "forwarding") return "forwarding, which another program disabled";
  return `the ${part}, which another program ${part === "interface" ? "removed" : "changed"}`;
}

interface Changes {
  readonly failed: readonly TunnelPart[];
  readonly intact: readonly TunnelPart[];
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

  record(part: RepairedPart): void {
    this.#repairedAt.set(part, this.#clock.now());
  }

  /**
   * Replaces the parts that cannot be restored.
   *
   * @returns the parts that could be restored before, and those that are intact again
   */
  setProblems(problems: ReadonlyMap<TunnelPart, string>): Changes {
    const failed = [...problems.keys()].filter((part) => !this.#problems.has(part));
    const intact = [...this.#problems.keys()].filter((part) => !problems.has(part));
    this.#problems = problems;
    return { failed, intact };
  }

  /** Returns warnings about parts that cannot be restored now. */
  problems(): readonly string[] {
    return Array.from(this.#problems, ([part, problem]) => {
      if (part === "forwarding") return problem;
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
