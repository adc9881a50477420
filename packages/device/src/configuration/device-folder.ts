/** What a device keeps: its private key, as what it is enrolled, whom it trusts, and the last configuration that it used. */
import { chmod, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { isSigningKey } from "@gatehouse/agent-core/crypto/signatures";
import { readIfThere, writePrivateFile } from "@gatehouse/agent-core/state/private-file";
import { publicKeyOf } from "@gatehouse/agent-core/wireguard/wireguard-key";
import type { UnreadConfiguration } from "@gatehouse/agent-protocol/device/envelope";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { isUnreadConfiguration } from "./check-device-configuration.ts";

/** As what the device is enrolled. */
export interface Enrolment {
  /** Where Gatehouse serves. */
  readonly url: string;
  /** The id that Gatehouse gave it. */
  readonly device: string;
  readonly name: string;
  /** Whose device it is, in words for people. */
  readonly user: string;
  /** Absent: enrolling was interrupted after the device was registered. */
  readonly token?: string;
}

/** What was asked for when enrolling began; asked again with the same key, it is done once. */
export interface BegunEnrolment {
  readonly url: string;
  readonly idempotencyKey: string;
  readonly body: object;
}

/** Whom a device trusts. */
export interface DeviceTrust {
  readonly tenant: string;
  /** Ed25519, the 32 bytes in base64. */
  readonly signingKey: string;
  /** Of all that were ever used, over restarts too. */
  readonly latest?: ConfigurationName | undefined;
}

export class DeviceFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Where WireGuard's private key is, for `wg`. */
  get privateKeyFile(): string {
    return join(this.path, "wireguard.key");
  }

  /** Makes the folder, readable by its owner alone. */
  async make(): Promise<void> {
    const made = await mkdir(this.path, { recursive: true, mode: 0o700 });
    if (made === undefined) await chmod(this.path, 0o700);
  }

  /** @returns the public key of the pair, which is made where there is none; base64 */
  publicKey(): Promise<string> {
    return publicKeyOf(this.privateKeyFile);
  }

  async privateKey(): Promise<string> {
    return (await readFile(this.privateKeyFile, "utf8")).trim();
  }

  /** @returns undefined where the device is not enrolled */
  async enrolment(): Promise<Enrolment | undefined> {
    const value = await this.#read("enrolment.json");
    if (value === undefined) return undefined;
    if (!hasTexts(value, ["url", "device", "name", "user"])) {
      throw new Error(`${this.#file("enrolment.json")} does not say as what this machine is enrolled.`);
    }
    return value as unknown as Enrolment; // written by keepEnrolment, in a folder that only its owner may write to
  }

  async keepEnrolment(enrolment: Enrolment): Promise<void> {
    await this.#write("enrolment.json", enrolment);
    await rm(this.#file("enrolling.json"), { force: true });
  }

  async begunEnrolment(): Promise<BegunEnrolment | undefined> {
    const value = await this.#read("enrolling.json");
    return value !== undefined && hasTexts(value, ["url", "idempotencyKey"])
      ? (value as unknown as BegunEnrolment) // as above
      : undefined;
  }

  keepBegunEnrolment(begun: BegunEnrolment): Promise<void> {
    return this.#write("enrolling.json", begun);
  }

  /** @returns undefined before the first link */
  async trust(): Promise<DeviceTrust | undefined> {
    const value = await this.#read("trust.json").catch(() => "nothing that can be read");
    if (value === undefined) return undefined;
    if (!hasTexts(value, ["tenant", "signingKey"]) || !isSigningKey(value.signingKey)) {
      throw new Error(
        `${this.#file("trust.json")} does not say whom to trust, and without it nothing can be verified. Restore it, or enrol this machine anew: delete the device at Gatehouse, and empty ${this.path}.`,
      );
    }
    return value as unknown as DeviceTrust; // as above
  }

  keepTrust(trust: DeviceTrust): Promise<void> {
    return this.#write("trust.json", trust);
  }

  /** @returns what was used last, not verified; undefined where there is nothing of that form */
  async configuration(): Promise<UnreadConfiguration | undefined> {
    const value = await this.#read("configuration.json").catch(() => undefined);
    return isUnreadConfiguration(value) ? value : undefined;
  }

  keepConfiguration(configuration: UnreadConfiguration): Promise<void> {
    return this.#write("configuration.json", configuration);
  }

  /** The machine's own resolvers, as they were when others than the agent itself were there last. */
  async resolvers(): Promise<readonly string[]> {
    const value = await this.#read("resolvers.json").catch(() => undefined);
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  }

  keepResolvers(resolvers: readonly string[]): Promise<void> {
    return this.#write("resolvers.json", resolvers);
  }

  async #read(name: string): Promise<unknown> {
    const text = await readIfThere(this.#file(name));
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
