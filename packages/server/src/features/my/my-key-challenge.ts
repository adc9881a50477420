/**
 * Challenges for people who register a WireGuard key (docs/decisions/0151). The browser holds the encrypted challenge
 * until it answers. Nothing is stored. It serves one person and one key.
 */
import type { KeyChallenge } from "@gatehouse/contract/records/device";
import { answersChallenge, newStoredChallenge, type StoredChallenge } from "../../agent-identity/key-challenge.ts";
import type { SecretBox } from "../../platform/secrets/master-key.ts";

/** How long a person has to answer a challenge, in milliseconds. */
const answerMs = 10 * 60_000;

interface Person {
  readonly tenantId: string;
  readonly userId: string;
}

export function createKeyChallenge(box: SecretBox, person: Person, publicKey: string, now: Date): KeyChallenge {
  const { tenantId: tenant, userId: user } = person;
  const stored = newStoredChallenge(tenant, user);
  const { ephemeralKey, nonce } = stored.challenge;
  const expiresAt = new Date(now.getTime() + answerMs);
  const content = JSON.stringify([stored.privateKey, ephemeralKey, nonce, expiresAt.getTime()]);
  const ticket = box.seal(content, contextOf(person, publicKey)).toString("base64url");
  return { ticket, tenant, user, ephemeralKey, nonce, expiresAt: expiresAt.toISOString() };
}

/** An answer to a challenge. */
interface KeyAnswer {
  readonly ticket: string;
  readonly publicKey: string;
  readonly proof: string;
}

/** Whether the answer proves possession of the private key. False if the challenge is expired, or another person's. */
export function isKeyProved(box: SecretBox, person: Person, answer: KeyAnswer, now: Date): boolean {
  const stored = openTicket(box, person, answer, now);
  return stored !== undefined && answersChallenge(stored, answer.publicKey, answer.proof);
}

function openTicket(
  box: SecretBox,
  person: Person,
  { ticket, publicKey }: KeyAnswer,
  now: Date,
): StoredChallenge | undefined {
  let content: string;
  try {
    content = box.open(Buffer.from(ticket, "base64url"), contextOf(person, publicKey));
  } catch {
    return undefined;
  }
  const [privateKey, ephemeralKey, nonce, expiresAt] = JSON.parse(content) as [string, string, string, number]; // as sealed above
  if (now.getTime() >= expiresAt) return undefined;
  const { tenantId: tenant, userId: agent } = person;
  return { privateKey, challenge: { type: "challenge", tenant, agent, ephemeralKey, nonce } };
}

function contextOf({ tenantId, userId }: Person, publicKey: string): string {
  return `wireguard-key:${tenantId}:${userId}:${publicKey}`;
}
