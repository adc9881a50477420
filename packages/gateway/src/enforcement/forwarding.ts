/** The kernel settings that enable forwarding between interfaces. */
import { readFile, writeFile } from "node:fs/promises";

const systemSwitches = ["/proc/sys/net/ipv4/conf/all/forwarding", "/proc/sys/net/ipv6/conf/all/forwarding"];

export class Forwarding {
  readonly #switches: readonly string[];
  #wasEnabled = false;

  /** @param switches the files of the settings, for tests */
  constructor(switches: readonly string[] = systemSwitches) {
    this.#switches = switches;
  }

  /**
   * Enables forwarding.
   *
   * @returns whether another program disabled it since the last call
   * @throws Error if the machine does not allow that
   */
  async enable(): Promise<boolean> {
    let isChanged = false;
    for (const path of this.#switches) {
      if ((await readFile(path, "utf8")).trim() !== "0") continue;
      await writeFile(path, "1").catch((error: unknown) => {
        throw new Error(`Forwarding is off, and ${path} cannot be written (${String(error)}). Enable it with sysctl.`);
      });
      isChanged = true;
    }
    const isRepair = this.#wasEnabled && isChanged;
    this.#wasEnabled = true;
    return isRepair;
  }
}
