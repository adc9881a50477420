import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

/** @returns the endpoint with its host resolved; undefined where that fails now, for the other side may find this one */
export async function endpointAddress(endpoint: string): Promise<string | undefined> {
  const [, host = "", port = ""] = /^\[?(.+?)\]?:([0-9]+)$/.exec(endpoint) ?? [];
  if (isIP(host) !== 0) return endpoint;
  try {
    const { address, family } = await lookup(host);
    return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  } catch {
    return undefined;
  }
}
