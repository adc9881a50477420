import { generateKeyPairSync } from "node:crypto";
import { type AgentKeys, agentKeys } from "../wireguard/wireguard-key.ts";

/** Returns the keys of an agent without a state folder. */
export function generatedKeys(): AgentKeys {
  return agentKeys(generateKeyPairSync("x25519").privateKey);
}
