/**
 * Challenges that a browser holds until it answers them. The challenge is encrypted in a cookie of the browser, so a
 * request without credentials stores nothing, and another browser cannot answer it.
 */
import { createHash, randomBytes } from "node:crypto";
import type { SecretBox } from "../../platform/secrets/master-key.ts";
import { ceremonyMs } from "../passkeys/passkeys.api.ts";

/** The purpose of a challenge. Its answer serves no other purpose. */
export type CeremonyPurpose = "sign-in" | "enrolment" | "registration" | "authentication";

export interface Ceremony {
  readonly challenge: Buffer;
  readonly expiresAt: Date;
}

const challengeBytes = 32;

/**
 * Begins a ceremony.
 *
 * @param binding the id of the link or session that the answer must belong to; empty for none
 */
export function beginCeremony(
  box: SecretBox,
  purpose: CeremonyPurpose,
  binding: string,
  now: Date,
): Ceremony & { readonly text: string } {
  const challenge = randomBytes(challengeBytes);
  const expiresAt = new Date(now.getTime() + ceremonyMs);
  const content = JSON.stringify([challenge.toString("base64url"), expiresAt.getTime()]);
  return { challenge, expiresAt, text: box.seal(content, contextOf(purpose, binding)).toString("base64url") };
}

/** Reads a ceremony back. Returns undefined if it is missing, expired, or was begun for something else. */
export function openCeremony(
  box: SecretBox,
  purpose: CeremonyPurpose,
  binding: string,
  text: string | undefined,
  now: Date,
): Ceremony | undefined {
  if (text === undefined) return undefined;
  try {
    const content = box.open(Buffer.from(text, "base64url"), contextOf(purpose, binding));
    const [challenge, expiresAtMs] = JSON.parse(content) as [string, number]; // as sealed above
    if (now.getTime() >= expiresAtMs) return undefined;
    return { challenge: Buffer.from(challenge, "base64url"), expiresAt: new Date(expiresAtMs) };
  } catch {
    return undefined;
  }
}

/** The hash under which an answered challenge is stored. */
export function challengeHash({ challenge }: Ceremony): Buffer {
  return createHash("sha256").update(challenge).digest();
}

function contextOf(purpose: CeremonyPurpose, binding: string): string {
  return `${purpose}:${binding}`;
}
