import type { ProgramRunner } from "@gatehouse/agent-core/system/program-runner";

/** Returns the interface through which the kernel sends packets to an address; undefined: none. */
export async function interfaceTo(address: string, programs: ProgramRunner): Promise<string | undefined> {
  const output = await programs.read("ip", ["-json", "route", "get", address]).catch(() => "");
  const routes: unknown = output.trim() === "" ? [] : JSON.parse(output);
  const dev: unknown = Array.isArray(routes) ? Reflect.get(Object(routes[0]), "dev") : undefined;
  return typeof dev === "string" ? dev : undefined;
}
