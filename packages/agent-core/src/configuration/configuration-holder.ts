import { errorMessage, type Log } from "../log.ts";

export interface ConfigurationStore<Configuration, Trust> {
  storeConfiguration(configuration: Configuration): Promise<void>;
  storeTrust(trust: Trust): Promise<void>;
}

type Listener<Content> = (content: Content | undefined) => Promise<void> | void;

/** Persists the active configuration for a restart, and notifies listeners of changes. */
export class ConfigurationHolder<Configuration, Trust, Content> {
  readonly #store: ConfigurationStore<Configuration, Trust>;
  readonly #log: Log;
  readonly #listeners: Listener<Content>[] = [];
  #failure: string | undefined;

  constructor(store: ConfigurationStore<Configuration, Trust>, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Why the active configuration is not persisted; undefined: it is. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * Persists the active configuration. If that fails, the agent keeps enforcing it: revocation must not depend on the
   * disk.
   */
  async persist(configuration: Configuration, trust: Trust): Promise<void> {
    try {
      // With this order, a crash leaves a configuration that is later than `latest`. The reverse would look like a
      // replay.
      await this.#store.storeConfiguration(configuration);
      await this.#store.storeTrust(trust);
      this.#failure = undefined;
    } catch (err) {
      const failure = errorMessage(err);
      if (this.#failure !== failure) this.#log("failed to store the configuration; will retry", { err });
      this.#failure = failure;
    }
  }

  /** Adds a listener. It receives each new configuration, and undefined when the configuration expires. */
  onChange(listener: Listener<Content>): void {
    this.#listeners.push(listener);
  }

  async notify(content: Content | undefined): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener(content);
      } catch (err) {
        this.#log("failed to handle a change of configuration", { err });
      }
    }
  }
}
