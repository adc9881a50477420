/** Who asks, as far as the sources of policies go. */
export interface Source {
  /** Empty for traffic that enters at a site. */
  readonly userId: string;
  /** Ids of the user's groups, those that there are. */
  readonly groupIds: readonly string[];
  readonly deviceId: string | undefined;
  /** The hashes of all these ids. */
  readonly hashes: readonly number[];
  /**
   * One bit of 32 for each of these hashes, in two ways: a hash whose bits are not both there is not among them. Most are told by that,
   * without reaching for the hashes.
   */
  readonly bloomA: number;
  readonly bloomB: number;
}

/** In place of the hashes of a policy that may apply to anybody. */
export const anyoneHash = 0;

/** A number of 32 bits for an id, other than that for anybody. Where a source and a policy share none, the policy names nothing of it. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  // The end of a UUIDv7 is random.
  for (let index = Math.max(0, id.length - 8); index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  return hash === anyoneHash ? 1 : hash;
}

/** Whether a hash is among those of a source. */
export function hasHash(source: Source, hash: number): boolean {
  if ((source.bloomA & bloomBitA(hash)) === 0 || (source.bloomB & bloomBitB(hash)) === 0) return false;
  return source.hashes.includes(hash);
}

/** Bits 27 to 31 of a hash. */
export function bloomBitA(hash: number): number {
  return 1 << (hash >>> 27);
}

/** Bits 22 to 26: a shift is by its distance's last five bits. */
export function bloomBitB(hash: number): number {
  return 1 << (hash >>> 22);
}
