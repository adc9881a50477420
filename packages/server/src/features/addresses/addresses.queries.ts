import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { CanonicalAddress } from "./addresses.rules.ts";

const insertMany = statement<
  never,
  [
    tenantId: string,
    resourceId: string,
    at: Date,
    ids: readonly string[],
    texts: readonly string[],
    isIp: readonly boolean[],
  ]
>(
  "addresses.insert",
  `INSERT INTO addresses (tenant_id, id, created_at, updated_at, resource_id, address, is_ip)
   SELECT $1, made.id, $3, $3, $2, made.address, made.is_ip
   FROM unnest($4::uuid[], $5::text[], $6::boolean[]) AS made (id, address, is_ip)`,
);

const insertProtocols = statement<
  never,
  [tenantId: string, addressIds: readonly string[], protocolIds: readonly string[], positions: readonly number[]]
>(
  "addresses.insert_protocols",
  `INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
   SELECT $1, used.address_id, used.protocol_id, used.position
   FROM unnest($2::uuid[], $3::uuid[], $4::smallint[]) AS used (address_id, protocol_id, position)`,
);

export interface NewAddress extends CanonicalAddress {
  /** Ids that are known to exist. */
  readonly protocols: readonly string[];
}

/** Gives a resource its addresses. The caller has made sure that the protocols exist and that no address repeats. */
export async function insertAddresses(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  resourceId: string,
  addresses: readonly NewAddress[],
  at: Date,
): Promise<void> {
  if (addresses.length === 0) return;
  const ids = addresses.map(() => newId());
  const uses = addresses.flatMap(({ protocols }, index) =>
    protocols.map((protocolId, position) => ({ addressId: ids[index] ?? "", protocolId, position })),
  );
  const texts = addresses.map(({ text }) => text);
  const isIp = addresses.map((address) => address.isIp);
  await Promise.all([
    tx.query(insertMany, tx.tenantId, resourceId, at, ids, texts, isIp),
    tx.query(
      insertProtocols,
      tx.tenantId,
      uses.map(({ addressId }) => addressId),
      uses.map(({ protocolId }) => protocolId),
      uses.map(({ position }) => position),
    ),
  ]);
}
