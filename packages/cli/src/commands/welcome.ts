/** The output of `serve` after the start. */
import { type Config, variableOf } from "@gatehouse/server/config";
import type { Gatehouse } from "@gatehouse/server/main";

/** Lines with the keys created at this start, except those that the configuration sets. */
export function createdKeyLines(
  { operatorKey, firstApiKey }: Gatehouse["installation"],
  config: Config,
): readonly string[] {
  const lines = [
    operatorKey === undefined ? [] : [`  Operator key  ${operatorKey}`],
    firstApiKey === undefined || config.bootstrapApiKey !== undefined ? [] : [`  API key       ${firstApiKey}`],
  ].flat();
  if (lines.length === 0) return [];
  return ["Save these keys now. They will not be shown again, since only their hashes are stored.", "", ...lines, ""];
}

/** The created keys as an object; undefined if there are none. */
export function createdKeyObject(
  { operatorKey, firstApiKey }: Gatehouse["installation"],
  config: Config,
): object | undefined {
  const apiKey = config.bootstrapApiKey === undefined ? firstApiKey : undefined;
  if (operatorKey === undefined && apiKey === undefined) return undefined;
  return { ...(operatorKey === undefined ? {} : { operatorKey }), ...(apiKey === undefined ? {} : { apiKey }) };
}

/** Lines with the address and a first request that works as printed. */
export function addressLines(
  { address, installation }: Gatehouse,
  config: Config,
  keysCreated: boolean,
): readonly string[] {
  const lines = [
    `Gatehouse serves on ${address}, its documentation on ${address}/docs.`,
    `The console is at ${address}/console/.`,
  ];
  const key = firstKeyText(installation, config);
  if (key !== undefined) lines.push("Try:", "", `  curl -H ${key} ${address}/tenants/resources`, "");
  else if (!keysCreated) {
    lines.push(
      "The keys were shown at the first start. Create more API keys with gatehouse key create. To replace a lost",
      `operator key, set ${variableOf("operatorKey")}.`,
    );
  }
  return lines;
}

function firstKeyText(installation: Gatehouse["installation"], config: Config): string | undefined {
  if (installation.firstApiKey === undefined) return undefined;
  return config.bootstrapApiKey === undefined
    ? `'apikey: ${installation.firstApiKey}'`
    : `"apikey: $${variableOf("bootstrapApiKey")}"`;
}
