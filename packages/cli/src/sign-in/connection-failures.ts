/** Failures to reach the server's public URL, to which tokens are sent. */
import * as oauth from "openid-client";
import { CommandFailure } from "../failure.ts";

/** The programs that the server knows: this command line, and a device that is enrolled. */
export type ClientId = "gatehouse-cli" | "gatehouse-device";

/** Secrets are sent only over TLS, or inside this machine. @throws CommandFailure */
export function requireProtected({ protocol, hostname: host, origin }: URL, clientId: ClientId): void {
  if (protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(host)) return;
  const isDevice = clientId === "gatehouse-device";
  const secrets = isDevice ? "the enrolment key or the device's token" : "the tokens";
  const message = `${origin}, the public URL of the server, has no TLS. Everyone on the way could read ${secrets}.`;
  const details = isDevice
    ? [
        "Give the server a certificate, and set GATEHOUSE_PUBLIC_URL to its https address.",
        "In a test network, enrol the device with --user and an API key, which everyone on the way can read, too.",
      ]
    : ["Give the server a certificate and an https address in GATEHOUSE_PUBLIC_URL, or use an API key."];
  throw new CommandFailure(message, { details });
}

/**
 * Returns the failure to show if a server does not answer.
 *
 * @param url the address that the user gave
 * @param issuer the public URL of the server; undefined if the server has not answered at all
 * @returns undefined if the error has another cause
 */
export function unreachable(error: unknown, url: string, issuer?: URL): CommandFailure | undefined {
  const reason = connectionReason(error);
  if (reason === undefined) return undefined;
  const { origin } = new URL(url);
  if (issuer === undefined || issuer.origin === origin) {
    return new CommandFailure(`Cannot sign in at ${origin}: ${reason}.`, {
      details: ["Start Gatehouse with gatehouse serve, or set its address with --url or GATEHOUSE_URL."],
    });
  }
  return new CommandFailure(`Cannot reach ${issuer.origin}, the public URL of the server at ${origin}: ${reason}.`, {
    details: [
      "Sign-in and enrolment use the public URL, whatever address is given.",
      "Set GATEHOUSE_PUBLIC_URL on the server to an address that this machine can reach, and restart the server.",
    ],
  });
}

/** @returns undefined if the error is not one of the connection */
function connectionReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const isTimeout =
    error.name === "TimeoutError" || (error instanceof oauth.ClientError && error.code === "OAUTH_TIMEOUT");
  if (isTimeout) return "no answer in time";
  return error instanceof TypeError && error.cause !== undefined ? causeOf(error.cause) : undefined;
}

function causeOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(causeOf).join(", ");
  return cause instanceof Error ? cause.message : String(cause);
}
