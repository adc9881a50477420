/** Runs the checks of `gatehouse doctor`. No check changes anything. */
import { runningPostgres } from "@gatehouse/embedded-postgres";
import type { Config } from "../config.ts";
import type { AcmeName } from "../platform/acme/acme.queries.ts";
import { connectionOf } from "../platform/db/primary-locator.ts";
import { checkDatabase } from "./database-checks.queries.ts";
import { type Finding, skipped } from "./finding.ts";
import { checkClock, checkDataFolder, checkDisk } from "./machine-checks.ts";
import { checkPort, checkPublicUrl, checkTls } from "./network-checks.ts";

export async function examine(config: Config, now: Date): Promise<readonly Finding[]> {
  const checks = [
    checkDataFolder(config),
    checkDisk(config),
    checkClock(),
    checkConfiguredDatabase(config, now),
    checkTls(config, now),
    checkPublicUrl(config),
    checkPort(config),
  ];
  return (await Promise.all(checks)).flat();
}

async function checkConfiguredDatabase(
  { databaseUrl, dataDir, ...config }: Config,
  now: Date,
): Promise<readonly Finding[]> {
  const acme = acmeNameOf(config);
  if (databaseUrl !== undefined) return checkDatabase(connectionOf(databaseUrl), { acme, now });
  const connection = await runningPostgres(dataDir).catch(() => undefined);
  const findings = connection === undefined ? [] : await checkDatabase({ ...connection, ssl: false }, { acme, now });
  if (findings.length > 1) return findings;
  return [skipped("database", "The embedded PostgreSQL does not answer. It runs only while the server runs.")];
}

function acmeNameOf({ acmeDirectory, publicUrl }: Pick<Config, "acmeDirectory" | "publicUrl">): AcmeName | undefined {
  if (acmeDirectory === undefined || publicUrl === undefined) return undefined;
  return { directoryUrl: acmeDirectory, host: new URL(publicUrl).hostname };
}
