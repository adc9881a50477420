import type { Transaction } from "../../platform/db/database.ts";
import { masterKeyCheck, type SecretBox } from "../../platform/secrets/master-key.ts";
import { StartError } from "../../platform/start-error.ts";
import { readFact, storeFact } from "./installation.queries.ts";

const { text: checkText, context: checkContext } = masterKeyCheck;

/** The secrets in the database were encrypted with another master key. */
export class WrongMasterKeyError extends StartError {
  constructor() {
    super(
      "The master key is not the one that the secrets in this database are encrypted with.",
      "Set GATEHOUSE_MASTER_KEY to that key, or put the file master-key back into the data folder from a backup.",
    );
    this.name = "WrongMasterKeyError";
  }
}

/**
 * Detects a wrong master key at start-up, not at the first unreadable secret. A known text is encrypted in a new
 * database and decrypted at each start.
 *
 * @throws WrongMasterKeyError
 */
export async function checkMasterKey(transaction: Transaction, box: SecretBox): Promise<void> {
  const sealed = await readFact(transaction, "master-key-check");
  if (sealed === undefined) {
    await storeFact(transaction, "master-key-check", box.seal(checkText, checkContext));
    return;
  }
  try {
    box.open(sealed, checkContext);
  } catch {
    throw new WrongMasterKeyError(); // the reason of the failed decryption adds nothing
  }
}
