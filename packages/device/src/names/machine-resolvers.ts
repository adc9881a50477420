/** The machine's own resolvers, which answer for all names but those of the configuration. */
import { isIP } from "node:net";
import { readIfThere } from "@gatehouse/agent-core/state/private-file";

/** Where programs look, and where systemd-resolved tells whom it asks itself. */
const resolverFiles = { programs: "/etc/resolv.conf", resolved: "/run/systemd/resolve/resolv.conf" } as const;
/** Of systemd-resolved: asked by us, it could ask us again. */
const resolvedStubs: ReadonlySet<string> = new Set(["127.0.0.53", "127.0.0.54"]);

/** What remembers the resolvers of before, for when only the agent itself is left in the file. */
export interface ResolverMemory {
  resolvers(): Promise<readonly string[]>;
  keepResolvers(resolvers: readonly string[]): Promise<void>;
}

export class MachineResolvers {
  readonly #own: string;
  readonly #memory: ResolverMemory;
  readonly #read: (path: string) => Promise<string | undefined>;
  #kept = "";

  /** @param own the address where the agent answers */
  constructor(own: string, memory: ResolverMemory, read = readIfThere) {
    this.#own = own;
    this.#memory = memory;
    this.#read = read;
  }

  /** As they are now: machines move between networks. */
  async now(): Promise<readonly string[]> {
    const listed = nameservers(await this.#read(resolverFiles.programs)).filter((address) => address !== this.#own);
    const isResolved = listed.some((address) => resolvedStubs.has(address));
    const behind = isResolved ? nameservers(await this.#read(resolverFiles.resolved)) : [];
    const others = [...listed.filter((address) => !resolvedStubs.has(address)), ...behind];
    const found = [...new Set(others)].filter((address) => address !== this.#own);
    if (found.length === 0) return this.#memory.resolvers();
    if (this.#kept !== found.join(" ")) {
      await this.#memory.keepResolvers(found);
      this.#kept = found.join(" ");
    }
    return found;
  }
}

/** @returns the addresses of a resolv.conf; none for undefined */
export function nameservers(text = ""): readonly string[] {
  return text
    .split("\n")
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? "")
    .filter((address) => isIP(address) !== 0);
}
