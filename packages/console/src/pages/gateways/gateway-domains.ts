/** Domains with their own resolvers as text: one domain on each line, such as `corp.example.com = 192.0.2.53`. */

interface Domain {
  readonly domain: string;
  readonly resolvers: readonly string[];
}

export function formatDomains(domains: readonly Domain[]): string {
  return domains.map(({ domain, resolvers }) => `${domain} = ${resolvers.join(", ")}`).join("\n");
}

export function parseDomains(text: string): {
  readonly domains: readonly Domain[];
  readonly invalid: readonly string[];
} {
  const domains: Domain[] = [];
  const invalid: string[] = [];
  for (const line of text.split("\n").filter((given) => given.trim() !== "")) {
    const [domain = "", list = "", ...others] = line.split("=").map((part) => part.trim());
    const resolvers = list.split(/[\s,]+/).filter((address) => address !== "");
    if (domain === "" || resolvers.length === 0 || others.length > 0) invalid.push(line.trim());
    else domains.push({ domain, resolvers });
  }
  return { domains, invalid };
}
