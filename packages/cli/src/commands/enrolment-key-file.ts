import { createReadStream } from "node:fs";
import { CommandFailure } from "../failure.ts";

const prefix = "gatehouse_enrolkey_";
/** More than a key with blanks around it. */
const maxBytes = 1_024;

/**
 * Reads an enrolment key. Another secret is never sent to the server.
 *
 * @param path `-` for standard input
 * @throws CommandFailure
 */
export async function readEnrolmentKey(path: string): Promise<string> {
  const name = path === "-" ? "Standard input" : path;
  const key = (await readStart(path)).trim();
  if (key.startsWith(prefix) && /^\w+$/.test(key)) return key;
  throw new CommandFailure(`${name} does not contain an enrolment key, which begins with ${prefix}.`, {
    details: ["Create a key with gatehouse enrolment-key create."],
  });
}

async function readStart(path: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    const stream: AsyncIterable<Uint8Array> = path === "-" ? process.stdin : createReadStream(path);
    for await (const chunk of stream) {
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes > maxBytes) break;
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(`Cannot read the enrolment key: ${reason}.`);
  }
  return Buffer.concat(chunks).toString("utf8");
}
