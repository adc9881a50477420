/** Validation of the requests of programs (docs/decisions/0113-command-line-sign-in.md). */
import { createHash, randomInt } from "node:crypto";

/** A program of Gatehouse. Other programs cannot register. */
export interface ProgramClient {
  readonly id: string;
  readonly name: string;
  /** Whether approving the program enrols its machine, instead of signing the program in. */
  readonly enrols: boolean;
}

const clients: readonly ProgramClient[] = [
  { id: "gatehouse-cli", name: "Gatehouse command line", enrols: false },
  { id: "gatehouse-device", name: "Gatehouse device", enrols: true },
];

/** The interval at which a program polls for the approval of its device code, in seconds. */
export const pollSeconds = 5;

export function findClient(id: string): ProgramClient | undefined {
  return clients.find((client) => client.id === id);
}

/**
 * The loopback addresses of RFC 8252, section 7.3, with any port. Not `localhost`, which can resolve to another machine
 * (section 8.3).
 */
const loopbackRedirect = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):(\d{1,5})\/callback$/;

export function isLoopbackRedirect(uri: string): boolean {
  const port = Number(loopbackRedirect.exec(uri)?.[1]);
  return port >= 1 && port <= 65_535;
}

/** A SHA-256 in base64url without padding. */
export function isCodeChallenge(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** Whether the verifier belongs to the challenge (RFC 7636, section 4.6). */
export function provesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  return createHash("sha256").update(verifier).digest("base64url") === challenge;
}

/** Random enough to tie the answer to the request, and short enough for an address. */
export function isState(text: string): boolean {
  return /^[\x21-\x7e]{16,500}$/.test(text);
}

const longestMaxAge = 24 * 60 * 60;

/** @returns the seconds; "invalid" for anything else than a number of seconds in range */
export function parseMaxAge(text: string | undefined): number | undefined | "invalid" {
  if (text === undefined) return undefined;
  return /^\d{1,5}$/.test(text) && Number(text) <= longestMaxAge ? Number(text) : "invalid";
}

/** The public key in a form that people can compare: the beginning of its SHA-256. */
export function keyFingerprint(publicKey: string): string {
  const hash = createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("hex");
  return hash
    .slice(0, 20)
    .toUpperCase()
    .replaceAll(/(.{4})(?=.)/g, "$1-");
}

const maxMachineLength = 80;
/** Nothing that can make a text look like something else, such as control characters or changes of direction. */
const machinePattern = /^[\p{L}\p{N} ._()+'/,-]*$/u;

export function isMachine(text: string): boolean {
  return text.length <= maxMachineLength && machinePattern.test(text);
}

/** Consonants, so that codes do not form words (RFC 8628, section 6.1). */
const userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ";
const userCodeLength = 8;

/** 8 of 20 letters: 34 bits. */
export function generateUserCode(): string {
  const letters = Array.from({ length: userCodeLength }, () => userCodeLetters[randomInt(userCodeLetters.length)]);
  return letters.join("");
}

/** The code as it is shown: in two groups. */
export function formatUserCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** The code without what people add when they type it; undefined if it cannot be a code. */
export function canonicalUserCode(text: string): string | undefined {
  if (text.length > 40) return undefined;
  const code = text.toUpperCase().replaceAll(/[\s-]/g, "");
  return code.length === userCodeLength && [...code].every((letter) => userCodeLetters.includes(letter))
    ? code
    : undefined;
}
