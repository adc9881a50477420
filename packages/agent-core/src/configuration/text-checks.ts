/** What the patterns of schemas cannot say of texts that reach other programs. */
import { familyOf } from "@gatehouse/addresses/ip-block";

/** @returns what is wrong with the first text that is not right; undefined: nothing */
export function problemOf(
  texts: readonly string[],
  place: string,
  isRight: (text: string) => boolean,
  problem: string,
): string | undefined {
  const wrong = texts.find((text) => !isRight(text));
  return wrong === undefined ? undefined : `${place}: ${JSON.stringify(wrong)} ${problem}`;
}

/** @returns as problemOf, of the first text that stands there twice */
export function repeated(texts: readonly string[], place: string): string | undefined {
  const seen = new Set<string>();
  for (const text of texts) {
    if (seen.has(text)) return `${place}: ${JSON.stringify(text)} stands there twice`;
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
