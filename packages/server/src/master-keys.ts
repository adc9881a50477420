/** Finds the master keys for commands on the machine. Unlike the server, it creates no key. */
import { join } from "node:path";
import { type Config, variableOf } from "./config.ts";
import { headsFileName } from "./platform/audit/signed-heads.ts";
import type { Log } from "./platform/log.ts";
import type { MasterKeys } from "./platform/secrets/master-key.ts";
import { readMasterKey, readSecondMasterKey } from "./platform/secrets/master-key-file.ts";
import { StartError } from "./platform/start-error.ts";

/** The configured master keys, or those in the data folder; undefined: none. */
export async function findMasterKeys(config: Config, log: Log): Promise<MasterKeys | undefined> {
  const { masterKey, secondMasterKey: second, databaseUrl, dataDir } = config;
  if (masterKey !== undefined) return { current: masterKey, second };
  if (databaseUrl !== undefined) return undefined;
  const file = await readMasterKey(dataDir, log);
  if (file === undefined) return undefined;
  return { current: file.key, second: second ?? (await readSecondMasterKey(dataDir, log))?.key };
}

/** @throws StartError if no master key is configured */
export async function requireMasterKeys(config: Config, log: Log): Promise<MasterKeys> {
  const keys = await findMasterKeys(config, log);
  if (keys !== undefined) return keys;
  throw new StartError(
    "The master key is missing.",
    `Set ${variableOf("masterKey")} to the installation's master key.`,
  );
}

/** The file of the last signed heads in the data folder. */
export function headsFileOf({ dataDir }: Config): string {
  return join(dataDir, headsFileName);
}
