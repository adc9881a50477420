import { createHash } from "node:crypto";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { contentRoot, contentTreeOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { PeerReport } from "@gatehouse/agent-protocol/gateway/frames";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { expect } from "vitest";
import type { LinkedAgent } from "../../packages/gateway/src/link/gateway-link.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** An agent without a kernel. */
export class HoldingAgent implements LinkedAgent {
  /** The link relies on its own state. */
  readonly configuration = undefined;
  readonly enforces = undefined;
  held: SignedConfiguration | undefined;
  signingKey: string | undefined;
  refusal: string | undefined;
  applied = 0;
  peers: readonly PeerReport[] = [];

  async applyConfiguration(given: unknown) {
    const configuration = given as SignedConfiguration; // as the link provides it
    const name = configurationName(configuration.envelope.header, sha256);
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
    // Simulates a slow write to disk.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    this.signingKey = signingKey;
  }

  async report() {
    return { enforces: null, load: 0.5, peers: [...this.peers], warnings: [] };
  }
}
