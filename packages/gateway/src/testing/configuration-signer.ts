/** Signs configurations with a tenant's key. */
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
import { handoverText, type SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";

export class ConfigurationSigner {
  readonly tenant: string;
  readonly #keys = generateKeyPairSync("ed25519");
  #generation = 0;

  constructor(tenant: string = randomUUID()) {
    this.tenant = tenant;
  }

  /** Base64. */
  get signingKey(): string {
    return this.#keys.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
  }

  /** Returns the statement by which another key follows this one. */
  handOver({ signingKey: to }: ConfigurationSigner): SigningKeyHandover {
    const from = this.signingKey;
    const signature = sign(null, Buffer.from(handoverText({ from, to })), this.#keys.privateKey);
    return { from, to, signature: signature.toString("base64") };
  }

  /**
   * Signs a configuration of the next generation, valid for an hour.
   *
   * @param gateway the gateway's id
   * @param changes changes to the header, which are signed as they are
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
