import type { Command } from "commander";
import { addDeviceSubcommands, deviceDescription } from "./commands/device.ts";
import { emptyProgram, type ProgramOptions } from "./empty-program.ts";

/** The `gatehouse-device` command of the device package, which contains no server. */
export function createDeviceProgram(options: ProgramOptions): Command {
  const program = emptyProgram("gatehouse-device", options).description(deviceDescription);
  addDeviceSubcommands(program);
  return program;
}
