import type { Address, ResourceType } from "@gatehouse/contract/records/address";
import type { Protocol } from "@gatehouse/contract/records/protocol";

/** An address as `addressJson` selects it. */
export interface AddressJson {
  readonly id: string;
  readonly address: string;
  readonly is_ip: boolean;
  /** Protocols as the API shows them. */
  readonly protocols: Protocol[] | null;
  readonly answers_within: string[] | null;
}

/**
 * SQL for a protocol as addresses show it, as one json value.
 *
 * @param alias the name of the row of `protocols`
 */
export function protocolJson(alias: string): string {
  return `json_build_object('id', ${alias}.id, 'name', ${alias}.name,
                            'networkProtocols', ${alias}.network_protocols, 'type', ${alias}.type)`;
}

/**
 * SQL for an address with its protocols as one json value.
 *
 * @param alias the name of the row of `addresses`
 */
export function addressJson(alias: string): string {
  return `json_build_object('id', ${alias}.id, 'address', ${alias}.address, 'is_ip', ${alias}.is_ip,
    'answers_within', ${alias}.answers_within, 'protocols', (
    SELECT json_agg(${protocolJson("protocol")} ORDER BY used.position)
    FROM address_protocols AS used
    JOIN protocols AS protocol ON protocol.tenant_id = used.tenant_id AND protocol.id = used.protocol_id
    WHERE used.tenant_id = ${alias}.tenant_id AND used.address_id = ${alias}.id))`;
}

/** @param type the type of the resource that owns the address */
export function addressView(row: AddressJson, type: ResourceType): Address {
  return {
    id: row.id,
    address: row.address,
    isIp: row.is_ip,
    type,
    protocols: row.protocols ?? [],
    ...(row.answers_within === null ? {} : { answersWithin: row.answers_within }),
  };
}

/**
 * An address as the audit record stores it, with the resource that owns it. The address record itself does not name the
 * resource.
 */
export function auditedAddress(row: {
  readonly whole: AddressJson;
  readonly resource_id: string;
  readonly resource_name: string;
  readonly resource_type: ResourceType;
}): Address & { readonly resource: { readonly id: string; readonly name: string } } {
  const resource = { id: row.resource_id, name: row.resource_name };
  return { ...addressView(row.whole, row.resource_type), resource };
}
