/** Runs the checks of `gatehouse doctor`. No check changes anything. */
import { runningPostgres } from "@gatehouse/embedded-postgres";
import type { Config } from "../config.ts";
import { findMasterKeys } from "../master-keys.ts";
import type { AcmeName } from "../platform/acme/acme.queries.ts";
import type { Connection } from "../platform/db/database.ts";
import { connectionOf } from "../platform/db/primary-locator.ts";
import { createLog } from "../platform/log.ts";
import { checkDatabase, upToDate } from "./database-checks.queries.ts";
import { type Finding, skipped } from "./finding.ts";
import { checkClock, checkDataFolder, checkDisk } from "./machine-checks.ts";
import { checkPort, checkPublicUrl, checkTls } from "./network-checks.ts";
import { checkSecrets } from "./secret-checks.ts";

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

async function checkConfiguredDatabase(config: Config, now: Date): Promise<readonly Finding[]> {
  const { databaseUrl, dataDir } = config;
  const acme = acmeNameOf(config);
  const check = async (connection: Connection) => {
    const masterKeys = await findMasterKeys(config, createLog("silent")).catch(() => undefined);
    const findings = await checkDatabase(connection, { acme, masterKeys, now });
    const isReady = findings.some(({ check, message }) => check === "schema" && message === upToDate);
    return isReady && masterKeys !== undefined ? [...findings, await checkSecrets(connection, masterKeys)] : findings;
  };
  if (databaseUrl !== undefined) return check(connectionOf(databaseUrl));
  const connection = await runningPostgres(dataDir).catch(() => undefined);
  const findings = connection === undefined ? [] : await check({ ...connection, ssl: false });
  if (findings.length > 1) return findings;
  return [skipped("database", "The embedded PostgreSQL does not answer. It runs only while the server runs.")];
}

function acmeNameOf({ acmeDirectory, publicUrl }: Pick<Config, "acmeDirectory" | "publicUrl">): AcmeName | undefined {
  if (acmeDirectory === undefined || publicUrl === undefined) return undefined;
  return { directoryUrl: acmeDirectory, host: new URL(publicUrl).hostname };
}
