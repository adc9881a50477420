const toleratedClockErrorMs = 5 * 60_000;

/**
 * Compares this machine's clock with the control plane's. Both are in milliseconds since 1970.
 *
 * @returns by how many minutes this machine is ahead; undefined if the clocks agree
 */
export function clockErrorMinutes(theirs: number, own: number): number | undefined {
  return Math.abs(own - theirs) <= toleratedClockErrorMs ? undefined : Math.round((own - theirs) / 60_000);
}

/** Explains to people why a connection failed. */
export function connectionFault(error: Error): string {
  const code = "code" in error ? String(error.code) : "";
  if (code === "EPROTO" && error.message.includes("wrong version number")) {
    return "The server does not speak TLS. Use http:// instead of https://.";
  }
  if (code.startsWith("HPE_")) return "The server does not speak HTTP. Use https:// instead of http://.";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `${error.message}: the name cannot be resolved`;
  // Node tries several addresses.
  if (error instanceof AggregateError) return error.errors.map((each: unknown) => reasonOf(each)).join(", ");
  return reasonOf(error).trim();
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
