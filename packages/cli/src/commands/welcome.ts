/** What `serve` tells the person who started it. */
import { type Config, variableOf } from "@gatehouse/server/config";
import type { Gatehouse } from "@gatehouse/server/main";

/** The keys that were made at this start; the ones that configuration sets are not repeated. */
export function madeKeyLines(
  { operatorKey, firstApiKey }: Gatehouse["installation"],
  config: Config,
): readonly string[] {
  const lines = [
    operatorKey === undefined ? [] : [`  Operator key  ${operatorKey}`],
    firstApiKey === undefined || config.bootstrapApiKey !== undefined ? [] : [`  API key       ${firstApiKey}`],
  ].flat();
  if (lines.length === 0) return [];
  return ["Keep these keys: they are shown this once, and stored as hashes only.", "", ...lines, ""];
}

/** The same for a program; undefined where there is none to tell. */
export function madeKeyObject(
  { operatorKey, firstApiKey }: Gatehouse["installation"],
  config: Config,
): object | undefined {
  const apiKey = config.bootstrapApiKey === undefined ? firstApiKey : undefined;
  if (operatorKey === undefined && apiKey === undefined) return undefined;
  return { ...(operatorKey === undefined ? {} : { operatorKey }), ...(apiKey === undefined ? {} : { apiKey }) };
}

/** Where it serves, and a first request that works as it stands. */
export function addressLines(
  { address, installation }: Gatehouse,
  config: Config,
  keysMade: boolean,
): readonly string[] {
  const lines = [
    `Gatehouse serves on ${address}, its documentation on ${address}/docs.`,
    `The console is at ${address}/console/.`,
  ];
  const key = firstKeyText(installation, config);
  if (key !== undefined) lines.push("Try:", "", `  curl -H ${key} ${address}/tenants/resources`, "");
  else if (!keysMade) {
    lines.push(
      "The keys were shown at the first start. An API key makes more of them (gatehouse key create --help); a lost",
      `operator key is replaced by setting ${variableOf("operatorKey")}.`,
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
