import { createHash } from "node:crypto";
import type { SignedConfiguration } from "@gatehouse/contract/gateway-link/configuration";
import { contentRoot, contentTreeOf } from "@gatehouse/contract/gateway-link/content-tree";
import { nameOf } from "@gatehouse/contract/gateway-link/envelope";
import type { PeerReport } from "@gatehouse/contract/gateway-link/frames";
import { expect } from "vitest";
import type { LinkedAgent } from "../../packages/gateway/src/link/gateway-link.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** An agent without a kernel. */
export class HoldingAgent implements LinkedAgent {
  held: SignedConfiguration | undefined;
  signingKey: string | undefined;
  refusal: string | undefined;
  applied = 0;
  peers: readonly PeerReport[] = [];

  async applyConfiguration(given: unknown) {
    const configuration = given as SignedConfiguration; // as the link hands it over
    const name = nameOf(configuration.envelope.header, sha256);
    this.applied += 1;
    if (this.signingKey === undefined)
      return { state: "failed", reason: "forged", message: "nobody is trusted" } as const;
    if (this.refusal !== undefined) {
      return { state: "failed", reason: "not_applied", message: this.refusal } as const;
    }
    expect(contentRoot(contentTreeOf(configuration.content), sha256)).toBe(configuration.envelope.header.root);
    this.held = configuration;
    return { state: "applied", configuration: name } as const;
  }

  async trustSigningKey(signingKey: string) {
    // As writing it to a disk takes a while.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    this.signingKey = signingKey;
  }

  async report() {
    return { enforces: null, load: 0.5, peers: [...this.peers], warnings: [] };
  }
}
