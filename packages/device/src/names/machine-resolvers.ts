/** The machine's resolvers, which answer for all names that are not in the configuration. */
import { isIP } from "node:net";
import { readIfExists } from "@gatehouse/agent-core/state/private-file";

/** The file that programs read, and the file in which systemd-resolved lists its upstream resolvers. */
const resolverFiles = { programs: "/etc/resolv.conf", resolved: "/run/systemd/resolve/resolv.conf" } as const;
/** The addresses of systemd-resolved. It could forward a question back to the agent. */
const resolvedStubs: ReadonlySet<string> = new Set(["127.0.0.53", "127.0.0.54"]);

/** Files in which programs list their upstream resolvers if they serve DNS on the machine. */
const upstreamFiles = [
  resolverFiles.resolved,
  "/run/NetworkManager/no-stub-resolv.conf",
  "/run/dnsmasq/resolv.conf",
] as const;

/** Stores the last known resolvers, for when the file lists only the agent. */
export interface ResolverMemory {
  resolvers(): Promise<readonly string[]>;
  storeResolvers(resolvers: readonly string[]): Promise<void>;
}

/** Remembers no resolvers, for an agent that does not serve DNS. */
export const noMemory: ResolverMemory = { resolvers: async () => [], storeResolvers: async () => {} };

export class MachineResolvers {
  readonly #own: string;
  readonly #memory: ResolverMemory;
  readonly #read: (path: string) => Promise<string | undefined>;
  #stored = "";

  /** @param own the address of the agent's DNS server; empty: it serves none */
  constructor(own: string, memory: ResolverMemory, read = readIfExists) {
    this.#own = own;
    this.#memory = memory;
    this.#read = read;
  }

  /** Returns the current resolvers. They change when the machine moves to another network. */
  async now(): Promise<readonly string[]> {
    const listed = nameservers(await this.#read(resolverFiles.programs)).filter((address) => address !== this.#own);
    const isResolved = listed.some((address) => resolvedStubs.has(address));
    const behind = isResolved ? nameservers(await this.#read(resolverFiles.resolved)) : [];
    const others = [...listed.filter((address) => !resolvedStubs.has(address)), ...behind];
    const found = [...new Set(others)].filter((address) => address !== this.#own);
    if (found.length === 0) return this.#memory.resolvers();
    if (this.#stored !== found.join(" ")) {
      await this.#memory.storeResolvers(found);
      this.#stored = found.join(" ");
    }
    return found;
  }

  /** Returns the current resolvers, and those to which other programs of the machine forward questions. */
  async all(): Promise<readonly string[]> {
    // Another program's file may be unreadable.
    const texts = await Promise.all(upstreamFiles.map((file) => this.#read(file).catch(() => undefined)));
    const found = [...(await this.now()), ...texts.flatMap((text) => nameservers(text))];
    return [...new Set(found)].filter((address) => address !== this.#own);
  }
}

/** Returns the nameserver addresses of a resolv.conf. */
export function nameservers(text = ""): readonly string[] {
  return text
    .split("\n")
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? "")
    .filter((address) => isIP(address) !== 0);
}
