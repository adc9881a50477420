/** The state of an agent across restarts: its private key, the pinned identity, and the last configuration. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isSigningKey } from "@gatehouse/agent-core/crypto/signatures";
import { errorMessage } from "@gatehouse/agent-core/log";
import { lockFolder } from "@gatehouse/agent-core/state/folder-lock";
import { checkRights, readIfExists, writePrivateFile } from "@gatehouse/agent-core/state/private-file";
import { type AgentKeys, publicKeyOf, readAgentKeys, replaceKey } from "@gatehouse/agent-core/wireguard/wireguard-key";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { type ValidatedConfiguration, validateConfiguration } from "./validate-configuration.ts";
import type { Trust } from "./verify-configuration.ts";

export class StateFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** The file of WireGuard's private key, for `wg`. */
  get privateKeyFile(): string {
    return join(this.#path, "wireguard.key");
  }

  /**
   * Returns the public key of the WireGuard interface. Creates the key pair at the first start. The private key never
   * leaves this folder.
   *
   * @returns base64
   */
  async publicKey(): Promise<string> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 });
    return publicKeyOf(this.privateKeyFile);
  }

  keys(): Promise<AgentKeys> {
    return readAgentKeys(this.privateKeyFile);
  }

  /** Replaces the key pair. @returns the new public key @throws Error if the agent is running */
  async replaceKey(): Promise<string> {
    await this.publicKey();
    await checkRights(this.#path, this.privateKeyFile);
    const release = await lockFolder(this.#path);
    try {
      return await replaceKey(this.privateKeyFile);
    } finally {
      release();
    }
  }

  /** @returns undefined if no key is pinned yet */
  async trust(): Promise<Trust | undefined> {
    const text = await readIfExists(this.#trustFile);
    if (text === undefined) return undefined;
    const value = jsonOf(text);
    if (
      typeof value !== "object" ||
      value === null ||
      !("signingKey" in value) ||
      !isSigningKey(String(value.signingKey))
    ) {
      throw new Error(
        `${this.#trustFile} does not contain a signing key, so no configuration can be verified. Restore the file. If you trust the current control plane, delete the file.`,
      );
    }
    return value as Trust; // written by storeTrust, in a folder that only the agent can write to
  }

  async storeTrust(trust: Trust): Promise<void> {
    await writePrivateFile(this.#trustFile, `${JSON.stringify(trust)}\n`);
  }

  /** @returns the last applied configuration, validated but not verified; undefined: none is stored */
  async configuration(): Promise<ValidatedConfiguration | undefined> {
    try {
      const text = await readIfExists(this.#configurationFile);
      return text === undefined ? undefined : validateConfiguration(JSON.parse(text));
    } catch (error) {
      return { problem: `${this.#configurationFile} cannot be read: ${errorMessage(error)}` };
    }
  }

  async storeConfiguration(configuration: SignedConfiguration): Promise<void> {
    await writePrivateFile(this.#configurationFile, JSON.stringify(configuration));
  }

  /** The files that a copy of the state has. It needs no keys. */
  get copiedFiles(): readonly string[] {
    return [this.#configurationFile, this.#trustFile];
  }

  get #trustFile(): string {
    return join(this.#path, "trust.json");
  }

  get #configurationFile(): string {
    return join(this.#path, "configuration.json");
  }
}

/** @returns undefined if the text is not JSON */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
