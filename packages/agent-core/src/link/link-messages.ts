/** What both agents say of their links. */
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";

/** In milliseconds. */
const toleratedClockErrorMs = 5 * 60_000;

/**
 * @param theirs the control plane's clock, as it said, in milliseconds since 1970
 * @param own this machine's
 * @returns undefined where they agree
 */
export function clockWarning(theirs: number, own: number): string | undefined {
  const minutes = Math.round((own - theirs) / 60_000);
  if (Math.abs(own - theirs) <= toleratedClockErrorMs) return undefined;
  const apart = `${Math.abs(minutes)} minutes ${minutes < 0 ? "behind" : "ahead of"} the control plane's`;
  return `The clock of this machine is ${apart}: configurations expire, and time windows open and close, at other times than they should. Set it right, with NTP.`;
}

export const nothingHeard = `The link failed: nothing was heard of the control plane for ${heartbeatTimeoutMs / 1_000} s.`;

/** Why a connection failed, for people. */
export function connectionFault(error: Error): string {
  const code = "code" in error ? String(error.code) : "";
  if (code === "EPROTO" && error.message.includes("wrong version number")) {
    return "what answers there does not speak TLS; is it http:// in place of https://?";
  }
  if (code.startsWith("HPE_")) return "what answers there does not speak HTTP; is it https:// in place of http://?";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `${error.message}: the name has no address here, or no resolver answers`;
  // Of several addresses that were tried.
  if (error instanceof AggregateError) return error.errors.map((each: unknown) => reasonOf(each)).join(", ");
  return reasonOf(error).trim();
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
