/** The output of `serve` after the start. */
import { type Config, variableOf } from "@gatehouse/server/config";
import type { Gatehouse } from "@gatehouse/server/main";

type Started = Pick<Gatehouse, "address" | "publicUrl" | "installation">;

/** Lines with the keys created at this start, except those that the configuration sets. */
export function createdKeyLines(
  { operatorKey, firstApiKey, owner }: Gatehouse["installation"],
  config: Config,
): readonly string[] {
  const lines = [
    operatorKey === undefined ? [] : [`  Operator key  ${operatorKey}`],
    firstApiKey === undefined || config.bootstrapApiKey !== undefined ? [] : [`  API key       ${firstApiKey}`],
    owner === undefined ? [] : [`  Recovery code ${owner.recoveryCode} (signs ${owner.email} in once)`],
  ].flat();
  if (lines.length === 0) return [];
  return ["Save these keys now. They will not be shown again, since only their hashes are stored.", "", ...lines, ""];
}

/** The created keys as an object, or undefined. */
export function createdKeyObject(
  { operatorKey, firstApiKey, owner }: Gatehouse["installation"],
  config: Config,
): object | undefined {
  const apiKey = config.bootstrapApiKey === undefined ? firstApiKey : undefined;
  if (operatorKey === undefined && apiKey === undefined && owner === undefined) return undefined;
  return {
    ...(operatorKey === undefined ? {} : { operatorKey }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(owner === undefined ? {} : { recoveryCode: owner.recoveryCode }),
  };
}

/** The address as an object. At the first start, it has the link with which the owner registers a passkey. */
export function addressObject({ address, publicUrl, installation: { owner } }: Started): object {
  const documentation = `${address}/docs`;
  return owner === undefined
    ? { address, documentation }
    : { address, documentation, ownerLink: `${publicUrl}${owner.enrolmentPath}` };
}

/**
 * Lines with the address and a first request that works as printed.
 *
 * @param keysCreated whether the first keys were shown or stored in a file at this start
 */
export function addressLines(
  { address, publicUrl, installation }: Started,
  config: Config,
  keysCreated: boolean,
): readonly string[] {
  const lines = [
    `Gatehouse serves on ${address}, its documentation on ${address}/docs.`,
    `The console is at ${publicUrl}/console/.`,
  ];
  if (config.publicUrl === undefined && !isLocal(config.host)) {
    lines.push(`Browsers on other machines need ${variableOf("publicUrl")}, such as https://gatehouse.example.com.`);
  }
  lines.push(...ownerLinkLines(installation, publicUrl));
  const key = firstKeyText(installation, config);
  if (key !== undefined) lines.push("Try:", "", `  curl -H ${key} ${address}/tenants/resources`, "");
  else if (!keysCreated) {
    lines.push(
      "The keys and the owner's link were shown at the first start. Create more API keys with gatehouse key create,",
      "and another link with gatehouse user invite-link. To replace a lost operator key, set",
      `${variableOf("operatorKey")}.`,
    );
  }
  return lines;
}

/** Lines with the link with which the owner registers a passkey. None if this start did not create the owner. */
export function ownerLinkLines({ owner }: Gatehouse["installation"], publicUrl: string): readonly string[] {
  if (owner === undefined) return [];
  return [
    `To register a passkey for ${owner.email}, open this link once, within seven days:`,
    "",
    `  ${publicUrl}${owner.enrolmentPath}`,
    "",
  ];
}

function isLocal(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function firstKeyText(installation: Gatehouse["installation"], config: Config): string | undefined {
  if (installation.firstApiKey === undefined) return undefined;
  return config.bootstrapApiKey === undefined
    ? `'apikey: ${installation.firstApiKey}'`
    : `"apikey: $${variableOf("bootstrapApiKey")}"`;
}
