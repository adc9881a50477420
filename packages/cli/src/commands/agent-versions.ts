import { type Finding, ok, problem, skipped, warning } from "@gatehouse/server/doctor/finding";
import { ownVersion } from "../empty-program.ts";
import { CommandFailure } from "../failure.ts";
import { isGatewayVersion } from "../response-checks.ts";
import { apiClient } from "./api-options.ts";

/** Compares the versions of gateway agents with this version. Agents report them when they connect. */
export async function checkAgents(options: { url: string; apiKey: string | undefined }): Promise<Finding> {
  const { url, apiKey } = options;
  if (apiKey === undefined || apiKey === "") {
    return skipped("agents", "Set GATEHOUSE_API_KEY to compare the versions of gateway agents.");
  }
  const others: string[] = [];
  let count = 0;
  try {
    const client = apiClient({ url, apiKey }, "apiKey");
    for await (const gateway of client.items((gatehouse) => gatehouse.list("/tenants/gateways"), isGatewayVersion)) {
      count += 1;
      const { name, agentVersion } = gateway;
      if (agentVersion !== undefined && agentVersion !== ownVersion()) others.push(`${name} (${agentVersion})`);
    }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const remedy = "Check --url, and that the key is valid and has gateways:read.";
    return problem("agents", `The gateways of ${url} cannot be listed: ${error.message}`, remedy);
  }
  if (count === 0) return ok("agents", "The tenant has no gateways.");
  if (others.length === 0) return ok("agents", `None of the ${count} gateways has an agent of another version.`);
  const remedy = "On each of these gateways, run: sudo apt-get update && sudo apt-get install gatehouse-gateway";
  const shown = others.slice(0, 5).join(", ") + (others.length > 5 ? ` and ${others.length - 5} more` : "");
  return warning("agents", `${others.length} gateways have an agent of another version: ${shown}.`, remedy);
}
