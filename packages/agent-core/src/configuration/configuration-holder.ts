import { errorMessage, type Log } from "../log.ts";

export interface ConfigurationStore<Configuration, Trust> {
  storeConfiguration(configuration: Configuration): Promise<void>;
  storeTrust(trust: Trust): Promise<void>;
}

type Listener<Content> = (content: Content | undefined) => Promise<void> | void;

/** Persists the active configuration for a restart, and notifies listeners of changes. */
export class ConfigurationHolder<Configuration, Trust, Content> {
  readonly #store: ReportedStore<Configuration, Trust>;
  readonly #copy: ReportedStore<Configuration, Trust> | undefined;
  readonly #log: Log;
  readonly #listeners: Listener<Content>[] = [];

  /** @param copy a second store, on a file system that does not fail together with the first one */
  constructor(
    store: ConfigurationStore<Configuration, Trust>,
    log: Log,
    copy?: ConfigurationStore<Configuration, Trust>,
  ) {
    this.#store = new ReportedStore(store, "failed to store the configuration; will retry", log);
    this.#copy =
      copy === undefined
        ? undefined
        : new ReportedStore(copy, "failed to copy the configuration to the runtime folder; will retry", log);
    this.#log = log;
  }

  /** Why the active configuration is not persisted; undefined: it is. */
  get failure(): string | undefined {
    return this.#store.failure;
  }

  /** The error of the last attempt to copy; undefined if it succeeded, was not made, or there is no second store. */
  get copyFailure(): string | undefined {
    return this.#copy?.failure;
  }

  /**
   * Persists the active configuration. If that fails, the agent keeps enforcing it: revocation must not depend on the
   * disk. The copy comes first, so that a crash between the two leaves the copy as the later one.
   */
  async persist(configuration: Configuration, trust: Trust): Promise<void> {
    await this.copy(configuration, trust);
    await this.#store.store(trust, configuration);
  }

  /** Copies a configuration that is already stored. */
  async copy(configuration: Configuration, trust: Trust): Promise<void> {
    await this.#copy?.store(trust, configuration);
  }

  /** Persists a trust that has changed since the active configuration was persisted. */
  async persistTrust(trust: Trust): Promise<void> {
    for (const store of [this.#copy, this.#store]) {
      // After a failure, the store has an earlier configuration. With this trust, it would look like a replay.
      if (store?.failure === undefined) await store?.store(trust);
    }
  }

  /**
   * Persists what could not be persisted before.
   *
   * @param configuration undefined: nothing is enforced. The trust then supersedes the stored configuration
   */
  async retry(configuration: Configuration | undefined, trust: Trust): Promise<void> {
    for (const store of [this.#copy, this.#store]) {
      if (store?.failure !== undefined) await store.store(trust, configuration);
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

/** A store whose failures are logged, and retained for reports. */
class ReportedStore<Configuration, Trust> {
  readonly #store: ConfigurationStore<Configuration, Trust>;
  readonly #message: string;
  readonly #log: Log;
  #failure: string | undefined;

  constructor(store: ConfigurationStore<Configuration, Trust>, message: string, log: Log) {
    this.#store = store;
    this.#message = message;
    this.#log = log;
  }

  /** The error of the last call; undefined if it succeeded or none was made. */
  get failure(): string | undefined {
    return this.#failure;
  }

  async store(trust: Trust, configuration?: Configuration): Promise<void> {
    try {
      // With this order, a crash leaves a configuration that is later than `latest`. The reverse would look like a
      // replay.
      if (configuration !== undefined) await this.#store.storeConfiguration(configuration);
      await this.#store.storeTrust(trust);
      this.#failure = undefined;
    } catch (err) {
      const failure = errorMessage(err);
      if (this.#failure !== failure) this.#log(this.#message, { err });
      this.#failure = failure;
    }
  }
}
