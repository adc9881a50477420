import type * as operations from "@gatehouse/contract/operations/sign-in.operations";
import type { SignIn } from "@gatehouse/contract/records/session";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import type { Outcome } from "../../platform/outcome.ts";
import { listSignInAttempts, type SignInRow } from "./sign-in-log.queries.ts";

export async function listSignIns(call: Call<typeof operations.listSignIns>): Promise<Outcome> {
  const { rows, total } = await call.read((tx) => listSignInAttempts(tx, call.listQuery));
  return { kind: "page", page: pageOfItems(call.listQuery, rows.map(signInView), total) };
}

function signInView(row: SignInRow): SignIn {
  return {
    id: row.id,
    createdAt: row.created_at,
    ...(row.user_id === null ? {} : { user: { id: row.user_id, email: row.user_name ?? "" } }),
    method: row.method,
    ...(row.provider_id === null ? {} : { provider: { id: row.provider_id, name: row.provider_name ?? "" } }),
    address: row.address,
    userAgent: row.user_agent,
    outcome: row.outcome,
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.note === null ? {} : { note: row.note }),
  };
}
