/** The state of a device: its private key, its enrolment, the pinned identity, and the last configuration. */
import { chmod, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PinnedTrust } from "@gatehouse/agent-core/configuration/pinned-trust";
import { isSigningKey } from "@gatehouse/agent-core/crypto/signatures";
import { lockFolder } from "@gatehouse/agent-core/state/folder-lock";
import { readIfExists, writePrivateFile } from "@gatehouse/agent-core/state/private-file";
import { type AgentKeys, publicKeyOf, readAgentKeys, replaceKey } from "@gatehouse/agent-core/wireguard/wireguard-key";
import type { UnreadConfiguration } from "@gatehouse/agent-protocol/device/envelope";
import { isUnreadConfiguration } from "./validate-device-configuration.ts";

/** The device's record at Gatehouse. */
export interface Enrolment {
  /** The URL of Gatehouse. */
  readonly url: string;
  /** The device's id. */
  readonly device: string;
  readonly name: string;
  /** The owner of the device, for people. */
  readonly user: string;
  /** Absent: the enrolment was interrupted after the registration. */
  readonly token?: string;
}

/** An enrolment request that may be repeated. The idempotency key prevents a second device. */
export interface PendingEnrolment {
  readonly url: string;
  readonly idempotencyKey: string;
  readonly body: object;
}

/** The pinned identity of the control plane. */
export interface DeviceTrust extends PinnedTrust {
  readonly tenant: string;
}

export class DeviceFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The file of WireGuard's private key, for `wg`. */
  get privateKeyFile(): string {
    return join(this.path, "wireguard.key");
  }

  /** Creates the folder. Only its owner can read it. */
  async make(): Promise<void> {
    const made = await mkdir(this.path, { recursive: true, mode: 0o700 });
    if (made === undefined) await chmod(this.path, 0o700);
  }

  /** Returns the public key, base64. Creates the key pair if there is none. */
  publicKey(): Promise<string> {
    return publicKeyOf(this.privateKeyFile);
  }

  keys(): Promise<AgentKeys> {
    return readAgentKeys(this.privateKeyFile);
  }

  /** Replaces the key pair. @returns the new public key @throws Error if the agent is running */
  async replaceKey(): Promise<string> {
    const release = await lockFolder(this.path);
    try {
      return await replaceKey(this.privateKeyFile);
    } finally {
      release();
    }
  }

  async privateKey(): Promise<string> {
    return (await readFile(this.privateKeyFile, "utf8")).trim();
  }

  /** @returns undefined if the device is not enrolled */
  async enrolment(): Promise<Enrolment | undefined> {
    const value = await this.#read("enrolment.json");
    if (value === undefined) return undefined;
    if (!hasTexts(value, ["url", "device", "name", "user"])) {
      throw new Error(`${this.#file("enrolment.json")} does not contain a valid enrolment.`);
    }
    return value as unknown as Enrolment; // written by storeEnrolment, in a folder that only its owner can write to
  }

  async storeEnrolment(enrolment: Enrolment): Promise<void> {
    await this.#write("enrolment.json", enrolment);
    await rm(this.#file("enrolling.json"), { force: true });
  }

  async pendingEnrolment(): Promise<PendingEnrolment | undefined> {
    const value = await this.#read("enrolling.json");
    return value !== undefined && hasTexts(value, ["url", "idempotencyKey"])
      ? (value as unknown as PendingEnrolment) // as above
      : undefined;
  }

  storePendingEnrolment(begun: PendingEnrolment): Promise<void> {
    return this.#write("enrolling.json", begun);
  }

  /** @returns undefined before the first connection */
  async trust(): Promise<DeviceTrust | undefined> {
    const value = await this.#read("trust.json").catch(() => "unreadable");
    if (value === undefined) return undefined;
    if (!hasTexts(value, ["tenant", "signingKey"]) || !isSigningKey(value.signingKey)) {
      throw new Error(
        `${this.#file("trust.json")} does not contain a tenant and a signing key, so no configuration can be verified. Restore the file. To enrol this machine again, delete the device in Gatehouse and empty ${this.path}.`,
      );
    }
    return value as unknown as DeviceTrust; // as above
  }

  storeTrust(trust: DeviceTrust): Promise<void> {
    return this.#write("trust.json", trust);
  }

  /** @returns the last configuration, not verified; undefined: none is stored, or it is unreadable */
  async configuration(): Promise<UnreadConfiguration | undefined> {
    const value = await this.#read("configuration.json").catch(() => undefined);
    return isUnreadConfiguration(value) ? value : undefined;
  }

  storeConfiguration(configuration: UnreadConfiguration): Promise<void> {
    return this.#write("configuration.json", configuration);
  }

  /** Returns the machine's resolvers as they were before the agent was the only one. */
  async resolvers(): Promise<readonly string[]> {
    const value = await this.#read("resolvers.json").catch(() => undefined);
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  }

  storeResolvers(resolvers: readonly string[]): Promise<void> {
    return this.#write("resolvers.json", resolvers);
  }

  async #read(name: string): Promise<unknown> {
    const text = await readIfExists(this.#file(name));
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw new Error(`${this.#file(name)} is not JSON.`);
    }
  }

  #write(name: string, value: unknown): Promise<void> {
    return writePrivateFile(this.#file(name), `${JSON.stringify(value)}\n`);
  }

  #file(name: string): string {
    return join(this.path, name);
  }
}

function hasTexts<Name extends string>(value: unknown, names: readonly Name[]): value is Record<Name, string> {
  if (typeof value !== "object" || value === null) return false;
  const texts: Readonly<Record<string, unknown>> = { ...value };
  return names.every((name) => typeof texts[name] === "string");
}
