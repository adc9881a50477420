import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { GatewayLink } from "./gateway-link.ts";

/** The part of the agent whose changes make `hello` inaccurate. */
export interface ChangingAgent {
  /** Whether the machine refused a configuration, so that the previous one is no longer enforced completely. */
  readonly isLimited: boolean;
  onChange(listener: (content: ConfigurationContent | undefined) => void): void;
}

/** Reconnects whenever the server must no longer rely on the configuration that `hello` or `applied` named. */
export function reconnectOnChange(link: Pick<GatewayLink, "expired" | "reconnect">, agent: ChangingAgent): void {
  let { isLimited } = agent;
  agent.onChange((content) => {
    const wasLimited = isLimited;
    // After the content is dropped, the server sends a configuration, which may fail before the content is back.
    isLimited = content !== undefined && agent.isLimited;
    if (content === undefined) link.expired();
    // Before the failure is reported: the server must not rely on a configuration that is not enforced completely.
    else if (isLimited && !wasLimited) link.reconnect();
  });
}
