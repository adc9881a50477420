import type { NetworkProtocol, Protocol } from "@gatehouse/contract/records/protocol";
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

interface BuiltInProtocol extends Pick<Protocol, "name" | "type"> {
  readonly networkProtocols: readonly NetworkProtocol[];
}

const tcp = (port: string): NetworkProtocol => ({ protocol: "TCP", port });
const udp = (port: string): NetworkProtocol => ({ protocol: "UDP", port });

function predefined(name: string, ...networkProtocols: NetworkProtocol[]): BuiltInProtocol {
  return { name, type: "PREDEFINED", networkProtocols };
}

/** The protocols that every tenant has, under the same names (contract). */
const builtInProtocols: readonly BuiltInProtocol[] = [
  {
    name: "All protocols",
    type: "ALL",
    networkProtocols: [{ protocol: "TCP" }, { protocol: "UDP" }, { protocol: "ICMP" }],
  },
  predefined("SSH", tcp("22")),
  predefined("HTTP", tcp("80")),
  predefined("HTTPS", tcp("443")),
  predefined("HTTP/HTTPS", tcp("80"), tcp("443")),
  predefined("RDP", tcp("3389"), udp("3389")),
  predefined("DNS", tcp("53"), udp("53")),
  predefined("PostgreSQL", tcp("5432")),
  predefined("MySQL", tcp("3306")),
  predefined("SMB", tcp("445")),
  predefined("ICMP", { protocol: "ICMP" }),
];

const insertAll = statement<
  never,
  [
    tenantId: string,
    at: Date,
    ids: readonly string[],
    names: readonly string[],
    types: readonly string[],
    contents: readonly string[],
  ]
>(
  "protocols.insert_built_in",
  `INSERT INTO protocols (tenant_id, id, created_at, updated_at, name, type, network_protocols)
   SELECT $1, made.id, $2, $2, made.name, made.type, made.content::json
   FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[]) AS made (id, name, type, content)`,
);

/** Makes the tenant's predefined protocols. */
export async function createBuiltInProtocols(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  at: Date,
): Promise<void> {
  await tx.query(
    insertAll,
    tx.tenantId,
    at,
    builtInProtocols.map(() => newId()),
    builtInProtocols.map(({ name }) => name),
    builtInProtocols.map(({ type }) => type),
    builtInProtocols.map(({ networkProtocols }) => JSON.stringify(networkProtocols)),
  );
}
