/** Who asks, as far as the sources of policies go. */
export interface Source {
  /** Empty for traffic that enters at a site. */
  readonly userId: string;
  /** Ids of the user's groups, those that there are. */
  readonly groupIds: readonly string[];
  readonly deviceId: string | undefined;
  /** The hashes of all these ids. */
  readonly hashes: readonly number[];
  /** The marks of these hashes together. */
  readonly marks: number;
}

/** In place of the hashes of a policy that may apply to anybody. */
export const anyonesHash = 0;

/** A number of 32 bits for an id, other than that for anybody. Where a source and a policy share none, the policy names nothing of it. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  // The end of a UUIDv7 is random.
  for (let index = Math.max(0, id.length - 8); index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  return hash === anyonesHash ? 1 : hash;
}

/** One bit of 32 for a hash: most hashes that are not among a source's are told by that alone. */
export function markOf(hash: number): number {
  return 1 << (hash >>> 27);
}

/** The marks of several hashes together. */
export function marksOf(hashes: readonly number[]): number {
  let marks = 0;
  for (const hash of hashes) marks |= markOf(hash);
  return marks;
}
