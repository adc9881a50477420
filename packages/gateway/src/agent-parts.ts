/** The types at the boundary of the agent: its parts, and the results that it returns. */
import type { Clock } from "@gatehouse/agent-core/clock";
import type { Log } from "@gatehouse/agent-core/log";
import type { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { FailureReason, PeerReport } from "@gatehouse/agent-protocol/gateway/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { RuntimeCopy } from "./configuration/runtime-copy.ts";
import type { StateFolder } from "./configuration/state-folder.ts";
import type { ForwardingSettings } from "./enforcement/base-chains.ts";
import type { Kernel } from "./enforcement/kernel.ts";
import type { AnswerFilter } from "./names/answer-filter.ts";
import type { EndpointHosts } from "./names/endpoint-hosts.ts";
import type { LearnedNames } from "./names/learned-names.ts";

/**
 * The result of applying a configuration. After `failed`, the previous configuration is still enforced, without the
 * access that the failed one takes away.
 */
export type Outcome =
  | { readonly state: "applied"; readonly configuration: ConfigurationName }
  | { readonly state: "failed"; readonly reason: FailureReason; readonly message: string };

/** The state that heartbeats report. */
export interface Report {
  /** The configuration that is enforced completely; null: none. */
  readonly enforces: ConfigurationName | null;
  /** The share of the processors in use, 0 to 1. */
  readonly load: number;
  readonly peers: readonly PeerReport[];
  /** Problems that do not prevent enforcement, for people. */
  readonly warnings: readonly string[];
}

export interface AgentParts {
  readonly kernel: Pick<Kernel, keyof Kernel>;
  readonly wireGuard: Pick<WireGuardInterface, "name" | "exists" | "livePeers">;
  readonly forwarding: ForwardingSettings;
  readonly folder: StateFolder;
  readonly copy: RuntimeCopy;
  readonly names: LearnedNames;
  readonly filter: AnswerFilter;
  readonly hosts: EndpointHosts;
  readonly warnings: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}
