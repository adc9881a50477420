import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { formatIpRange, parseIpRange } from "@gatehouse/addresses/ip-ranges";
import type { ProblemField } from "@gatehouse/contract/problem";

export type SourceIpsReading =
  | { readonly ok: true; readonly value: string[] }
  | { readonly ok: false; readonly errors: readonly ProblemField[] };

/**
 * The `sourceIps` of a request in canonical text, in the order given, each range once.
 *
 * @param texts addresses and CIDR blocks; the errors point into `/sourceIps`
 */
export function canonicalSourceIps(texts: readonly string[]): SourceIpsReading {
  const errors: ProblemField[] = [];
  const canonical = new Map<string, string>();
  for (const [index, text] of texts.entries()) {
    const reading = parseIpRange(text.trim());
    if (!reading.ok) {
      errors.push({ pointer: `/sourceIps/${index}`, message: reading.problem });
      continue;
    }
    const { version, first } = reading.value;
    const range = formatIpRange(reading.value);
    // A single address stays one, rather than becoming a block.
    if (!canonical.has(range))
      canonical.set(range, text.includes("/") ? range : formatIpAddress({ version, bits: first }));
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, value: [...canonical.values()] };
}
