/** What an agent keeps over its restarts: its private key, whom it trusts, and the last configuration that was applied. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isSigningKey } from "@gatehouse/agent-core/crypto/signatures";
import { readIfThere, writePrivateFile } from "@gatehouse/agent-core/state/private-file";
import { publicKeyOf } from "@gatehouse/agent-core/wireguard/wireguard-key";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { checkForm } from "./check-content.ts";
import type { Trust } from "./verify-configuration.ts";

export class StateFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Where WireGuard's private key is, for `wg`. */
  get privateKeyFile(): string {
    return join(this.#path, "wireguard.key");
  }

  /**
   * The key pair of the WireGuard interface, made at the first start. The private key never leaves this folder.
   *
   * @returns the public key, base64
   */
  async publicKey(): Promise<string> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 });
    return publicKeyOf(this.privateKeyFile);
  }

  /** @returns undefined before anybody was trusted */
  async trust(): Promise<Trust | undefined> {
    const text = await readIfThere(this.#trustFile);
    if (text === undefined) return undefined;
    const value = jsonOf(text);
    if (
      typeof value !== "object" ||
      value === null ||
      !("signingKey" in value) ||
      !isSigningKey(String(value.signingKey))
    ) {
      throw new Error(
        `${this.#trustFile} does not say whom to trust, and without it nothing can be verified. Restore it; or, where you trust the control plane that answers now, delete it.`,
      );
    }
    return value as Trust; // written by keepTrust, in a folder that only the agent may write to
  }

  async keepTrust(trust: Trust): Promise<void> {
    await writePrivateFile(this.#trustFile, `${JSON.stringify(trust)}\n`);
  }

  /** @returns what was applied last, not verified yet; undefined where there is nothing that has the form of it */
  async configuration(): Promise<{ configuration: SignedConfiguration } | { problem: string } | undefined> {
    try {
      const text = await readIfThere(this.#configurationFile);
      return text === undefined ? undefined : checkForm(JSON.parse(text));
    } catch (error) {
      return { problem: `${this.#configurationFile} cannot be read: ${String(error)}` };
    }
  }

  async keepConfiguration(configuration: SignedConfiguration): Promise<void> {
    await writePrivateFile(this.#configurationFile, JSON.stringify(configuration));
  }

  get #trustFile(): string {
    return join(this.#path, "trust.json");
  }

  get #configurationFile(): string {
    return join(this.#path, "configuration.json");
  }
}

/** @returns undefined where the text is not JSON */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
