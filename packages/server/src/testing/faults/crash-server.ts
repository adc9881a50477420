/**
 * A complete server in its own process, to be killed. It loads the program, waits for its settings from its parent, and
 * reports its address.
 */
import { once } from "node:events";
import { readConfig } from "../../config.ts";
import { startGatehouse } from "../../main.ts";
import { createLog } from "../../platform/log.ts";

process.send?.({ loaded: true });
const [flags] = await once(process, "message");
try {
  const { address } = await startGatehouse(readConfig({ flags, environment: {} }), createLog("error"));
  process.send?.({ address });
} catch (error) {
  process.send?.({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
