import { Resolver } from "node:dns/promises";

/** Returns the values of the TXT records of a name; none if the name has none, or DNS does not answer. */
export type ResolveTxt = (name: string) => Promise<readonly string[]>;

/** @param servers addresses with ports; the system's servers if absent */
export function txtResolver(servers?: readonly string[]): ResolveTxt {
  return async (name) => {
    const resolver = new Resolver({ timeout: 3_000, tries: 2 });
    if (servers !== undefined) resolver.setServers([...servers]);
    try {
      // The parts of one record belong together (RFC 7208, section 3.3).
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(""));
    } catch {
      return [];
    }
  };
}
