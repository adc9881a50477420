import type { Domain } from "@gatehouse/contract/records/domain";
import type { DomainRow } from "./domains.queries.ts";

/** The name of the record that proves a domain. */
export function recordName(domain: string): string {
  return `_gatehouse.${domain}`;
}

export function recordValue(token: string): string {
  return `gatehouse-domain-verification=${token}`;
}

export function domainView(row: DomainRow): Domain {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    domain: row.domain,
    verifiedAt: row.verified_at,
    recordName: recordName(row.domain),
    recordValue: recordValue(row.token),
  };
}
