/** Runs the checks of `gatehouse doctor`. No check changes anything. */
import { runningPostgres } from "@gatehouse/embedded-postgres";
import type { Config } from "../config.ts";
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
    checkConfiguredDatabase(config),
    checkTls(config, now),
    checkPublicUrl(config),
    checkPort(config),
  ];
  return (await Promise.all(checks)).flat();
}

async function checkConfiguredDatabase({ databaseUrl, dataDir }: Config): Promise<readonly Finding[]> {
  if (databaseUrl !== undefined) return checkDatabase(connectionOf(databaseUrl));
  const connection = await runningPostgres(dataDir).catch(() => undefined);
  const findings = connection === undefined ? [] : await checkDatabase({ ...connection, ssl: false });
  if (findings.length > 1) return findings;
  return [skipped("database", "The embedded PostgreSQL does not answer. It runs only together with the server.")];
}
