/** The kernel settings that enable forwarding between interfaces. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "@gatehouse/agent-core/log";

const ofAll = { ipv4: "net/ipv4/conf/all/forwarding", ipv6: "net/ipv6/conf/all/forwarding" } as const;

export interface ForwardingState {
  /** Whether another program disabled forwarding since the last call, and the agent enabled it. */
  readonly isRestored: boolean;
  /** Why forwarding may be disabled, for people; absent if it is enabled. */
  readonly problem?: string;
}

export class Forwarding {
  /** The setting that decides about IPv4 packets from the tunnel. IPv6 has no such setting. */
  readonly #ofInterface: string;
  readonly #root: string;
  readonly #write: (path: string, text: string) => Promise<void>;
  /** The settings that were enabled at an earlier call. */
  readonly #enabled = new Set<string>();

  /**
   * @param interfaceName the interface of the tunnel, which may not exist yet
   * @param root the folder of the settings, for tests
   * @param write writes a file, for tests
   */
  constructor(
    interfaceName: string,
    root = "/proc/sys",
    write: (path: string, text: string) => Promise<void> = writeFile,
  ) {
    this.#ofInterface = `net/ipv4/conf/${interfaceName}/forwarding`;
    this.#root = root;
    this.#write = write;
  }

  /**
   * Enables forwarding. A setting that cannot be changed does not affect the other one.
   *
   * @param hasIpv6 whether IPv6 is to be forwarded, too
   */
  async enable(hasIpv6: boolean): Promise<ForwardingState> {
    const ofMachine = hasIpv6 ? [ofAll.ipv4, ofAll.ipv6] : [ofAll.ipv4];
    const changes = await Promise.all(ofMachine.map((setting) => this.#enableOne(setting)));
    // A change of the machine's setting changes the setting of each interface.
    changes.push(await this.#enableOne(this.#ofInterface));
    const isRestored = changes.some((change) => change === "restored");
    const problem = problemOf(changes.filter((change) => typeof change === "object"));
    return problem === undefined ? { isRestored } : { isRestored, problem };
  }

  async #enableOne(setting: string): Promise<"restored" | "enabled" | Failure> {
    const path = join(this.#root, setting);
    const name = setting.replaceAll("/", ".");
    let isDisabled: boolean;
    try {
      isDisabled = (await readFile(path, "utf8")).trim() === "0";
    } catch (error) {
      if (setting === this.#ofInterface && isMissing(error)) return "enabled";
      return { name, isDisabled: undefined, message: errorMessage(error) };
    }
    try {
      if (isDisabled) await this.#write(path, "1");
    } catch (error) {
      return { name, isDisabled, message: errorMessage(error) };
    }
    const isRestored = isDisabled && this.#enabled.has(setting);
    this.#enabled.add(setting);
    return isRestored ? "restored" : "enabled";
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

interface Failure {
  /** The name for sysctl. */
  readonly name: string;
  /** Undefined if the setting cannot be read. */
  readonly isDisabled: boolean | undefined;
  readonly message: string;
}

function problemOf(failures: readonly Failure[]): string | undefined {
  const unreadable = failures.filter(({ isDisabled }) => isDisabled === undefined);
  const disabled = failures.filter(({ isDisabled }) => isDisabled === true);
  const texts = unreadable.map(({ name, message }) => `The setting ${name} cannot be read (${message}).`);
  const [first] = disabled;
  if (first !== undefined) {
    const commands = disabled.map(({ name }) => `${name}=1`).join(" ");
    texts.push(
      `Forwarding is disabled, and the agent cannot enable it (${first.message}). Run on the machine: sysctl -w ${commands}`,
    );
  }
  return texts.length === 0 ? undefined : texts.join(" ");
}
