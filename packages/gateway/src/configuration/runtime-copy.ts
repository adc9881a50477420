/** The copy of an agent's state in the runtime folder. It has the same files as the state folder. */
import { rm } from "node:fs/promises";
import type { ConfigurationStore } from "@gatehouse/agent-core/configuration/configuration-holder";
import type { RuntimeFolder } from "@gatehouse/agent-core/state/runtime-folder";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { StateFolder } from "./state-folder.ts";
import type { ValidatedConfiguration } from "./validate-configuration.ts";
import type { Trust } from "./verify-configuration.ts";

export class RuntimeCopy implements ConfigurationStore<SignedConfiguration, Trust> {
  readonly #folder: RuntimeFolder;
  readonly #files: StateFolder;

  constructor(folder: RuntimeFolder) {
    this.#folder = folder;
    this.#files = new StateFolder(folder.path);
  }

  /**
   * Reads the copy, even if another agent uses the folder: an earlier configuration must not be resumed instead.
   *
   * @returns undefined if there is no copy
   * @throws Error if it cannot be read
   */
  async read(): Promise<{ trust: Trust; configuration: ValidatedConfiguration | undefined } | undefined> {
    await this.#folder.check();
    const trust = await this.#files.trust();
    return trust === undefined ? undefined : { trust, configuration: await this.#files.configuration() };
  }

  async storeConfiguration(configuration: SignedConfiguration): Promise<void> {
    await this.#folder.open();
    await this.#files.storeConfiguration(configuration);
  }

  async storeTrust(trust: Trust): Promise<void> {
    await this.#folder.open();
    await this.#files.storeTrust(trust);
  }

  /** @returns whether there was a copy */
  async remove(): Promise<boolean> {
    await this.#folder.open();
    let isRemoved = false;
    for (const file of this.#files.copiedFiles) {
      await rm(file).then(
        () => {
          isRemoved = true;
        },
        (error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT") throw error;
        },
      );
    }
    return isRemoved;
  }

  /** Leaves the copy for the next start. */
  close(): void {
    this.#folder.close();
  }
}
