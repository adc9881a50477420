import { readConfig } from "@gatehouse/server/config";
import { createLog } from "@gatehouse/server/platform/log";
import type { Command } from "commander";
import { writeJson, writeLines } from "../output.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";
import { endInTime, untilStopped } from "./stop-signals.ts";

export function addMigrateCommand(program: Command): void {
  const command = program
    .command("migrate")
    .summary("migrate the database to this version's schema")
    .description(
      "Migrates the database to this version's schema. serve does the same at each start; use this command to run migrations as a separate step.",
    )
    .option("--json", "Print JSON.")
    .action(async ({ json, ...flags }: { json?: true }) => {
      const config = readConfig({ flags: givenFlags(flags), environment: process.env });
      const { migrateDatabase } = await import("@gatehouse/server/main");
      const stopped = untilStopped();
      const applied = await endInTime(migrateDatabase(config, createLog(config.logLevel), stopped), stopped);
      if (json === true) return writeJson({ applied });
      if (applied.length === 0) return writeLines(["The database is up to date."]);
      return writeLines(["Applied:", ...applied.map((name) => `  ${name}`)]);
    });
  addSettingOptions(command, ["dataDir", "databaseUrl", "logLevel"]);
}
