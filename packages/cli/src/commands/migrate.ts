import { readConfig } from "@gatehouse/server/config";
import { createLog } from "@gatehouse/server/platform/log";
import type { Command } from "commander";
import { writeJson, writeLines } from "../output.ts";
import { addSettingOptions, givenFlags } from "./setting-options.ts";
import { untilStopped } from "./stop-signals.ts";

export function addMigrateCommand(program: Command): void {
  const command = program
    .command("migrate")
    .summary("bring the database to this version's schema")
    .description(
      "Brings the database to this version's schema and ends. serve does the same at each start; this is for those who want it as a step of its own.",
    )
    .option("--json", "Print JSON.")
    .action(async ({ json, ...flags }: { json?: true }) => {
      const config = readConfig({ flags: givenFlags(flags), environment: process.env });
      const { migrateDatabase } = await import("@gatehouse/server/main");
      const applied = await migrateDatabase(config, createLog(config.logLevel), untilStopped());
      if (json === true) writeJson({ applied });
      else if (applied.length === 0) writeLines(["The database is up to date."]);
      else writeLines(["Applied:", ...applied.map((name) => `  ${name}`)]);
    });
  addSettingOptions(command, ["dataDir", "databaseUrl", "logLevel"]);
}
