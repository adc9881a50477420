/** Codes that sign their user in once, without any provider or passkey. */
import { hashToken } from "../../platform/secrets/tokens.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { generateRecoveryCode } from "./recovery-code.rules.ts";
import { storeRecoveryCode } from "./sign-in.queries.ts";

/** Stores a new recovery code in place of the user's earlier one, and records that. The code is shown once. */
export async function issueRecoveryCode(
  tx: CommandTx,
  user: { readonly id: string; readonly email: string },
  at: Date,
): Promise<string> {
  const code = generateRecoveryCode();
  await storeRecoveryCode(tx, user.id, hashToken(code), at);
  tx.record({ type: "recovery-code", id: user.id, name: user.email, after: { userId: user.id } });
  return code;
}
