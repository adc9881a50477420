/** A tenant's signing key, and the configurations that a test signs with it. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import type {
  ConfigurationContent,
  ConfigurationHeader,
  SignedConfiguration,
} from "@gatehouse/contract/gateway-link/configuration";
import { contentRoot, contentTreeOf } from "@gatehouse/contract/gateway-link/content-tree";
import { nameOf, signedText } from "@gatehouse/contract/gateway-link/envelope";
import { sha256 } from "../configuration/signatures.ts";

export class ConfigurationSigner {
  readonly tenant = randomUUID();
  readonly #keys = generateKeyPairSync("ed25519");
  #generation = 0;

  /** Base64. */
  get signingKey(): string {
    return this.#keys.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
  }

  /**
   * A configuration of the next generation, for an hour from now.
   *
   * @param gateway its identifier
   * @param changes of the header, signed as they are
   */
  signed(
    gateway: string,
    content: ConfigurationContent,
    changes: Partial<ConfigurationHeader> = {},
  ): SignedConfiguration {
    const header: ConfigurationHeader = {
      format: 1,
      tenant: this.tenant,
      gateway,
      generation: ++this.#generation,
      issuedAt: Date.now(),
      expiresAt: Date.now() + 3_600_000,
      root: contentRoot(contentTreeOf(content), sha256),
      ...changes,
    };
    const text = Buffer.from(signedText(nameOf(header, sha256)));
    return { envelope: { header, signature: sign(null, text, this.#keys.privateKey).toString("base64") }, content };
  }
}
