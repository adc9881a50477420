/** A tenant's signing key, and the configurations that a test signs with it. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { sha256 } from "@gatehouse/agent-core/crypto/signatures";
import type {
  ConfigurationContent,
  ConfigurationHeader,
  SignedConfiguration,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { contentRoot, contentTreeOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { signedText } from "@gatehouse/agent-protocol/gateway/envelope";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";

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
    const text = Buffer.from(signedText(configurationName(header, sha256)));
    return { envelope: { header, signature: sign(null, text, this.#keys.privateKey).toString("base64") }, content };
  }
}
