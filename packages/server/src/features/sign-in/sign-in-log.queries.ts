import type { SignIn } from "@gatehouse/contract/records/session";
import type { ListSource } from "../../platform/db/list-statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { listCountedPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface SignInRow {
  readonly id: string;
  readonly created_at: string;
  readonly user_id: string | null;
  readonly user_name: string | null;
  readonly method: SignIn["method"];
  readonly provider_id: string | null;
  readonly provider_name: string | null;
  readonly address: string;
  readonly user_agent: string;
  readonly outcome: SignIn["outcome"];
  readonly reason: string | null;
  readonly note: string | null;
}

const source: ListSource = {
  table: "sign_in_attempts",
  select: `item.id, item.created_at, item.user_id, item.user_name, item.method, item.provider_id, item.provider_name,
    item.address, item.user_agent, item.outcome, item.reason, item.note`,
  columns: {
    id: { value: "item.id" },
    createdAt: { value: "item.created_at" },
    "user.id": { value: "item.user_id" },
    "user.email": { value: `lower(item.user_name) COLLATE "C"`, lowerCase: true },
    method: { value: "item.method" },
    "provider.id": { value: "item.provider_id" },
    address: { value: "item.address" },
    outcome: { value: "item.outcome" },
    reason: { value: "item.reason" },
  },
};

export function listSignInAttempts(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly rows: SignInRow[]; readonly total: number }> {
  return listCountedPage(tx, source, query);
}
