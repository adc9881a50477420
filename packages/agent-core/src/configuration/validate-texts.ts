/** Checks that the patterns of schemas cannot express, for texts that reach other programs. */
import { familyOf } from "@gatehouse/addresses/ip-block";

/** @returns the problem of the first invalid text; undefined: all are valid */
export function problemOf(
  texts: readonly string[],
  place: string,
  isValid: (text: string) => boolean,
  problem: string,
): string | undefined {
  const invalid = texts.find((text) => !isValid(text));
  return invalid === undefined ? undefined : `${place}: ${JSON.stringify(invalid)} ${problem}`;
}

/** @returns the problem of the first text that occurs twice; undefined: none does */
export function repeated(texts: readonly string[], place: string): string | undefined {
  const seen = new Set<string>();
  for (const text of texts) {
    if (seen.has(text)) return `${place}: ${JSON.stringify(text)} occurs twice`;
    seen.add(text);
  }
  return undefined;
}

/** `host:port`, IPv6 in brackets. */
export function isEndpoint(text: string): boolean {
  const [, host = "", port = ""] = /^(.+):([0-9]{1,5})$/.exec(text) ?? [];
  const bare = /^\[(.+)\]$/.exec(host)?.[1];
  const isPort = Number(port) >= 1 && Number(port) <= 65_535;
  return isPort && (bare === undefined ? !host.includes(":") : familyOf(bare) === 6);
}
