/** The part of a principal that the sources of policies match. */
export interface Source {
  /** Empty for traffic that enters at a site. */
  readonly userId: string;
  /** Ids of the user's groups that exist. */
  readonly groupIds: readonly string[];
  readonly deviceId: string | undefined;
  /** Hashes of all these ids. */
  readonly hashes: readonly number[];
  /** Two small Bloom filters of `hashes`. They reject most hashes without a search of the list. */
  readonly bloomA: number;
  readonly bloomB: number;
}

/** The hash of a policy that may apply to any source. */
export const anyoneHash = 0;

/** A 32-bit hash of an id, never `anyoneHash`. A policy and a source without a common hash do not match. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  // The end of a UUIDv7 is random.
  for (let index = Math.max(0, id.length - 8); index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  return hash === anyoneHash ? 1 : hash;
}

/** Whether a source has a hash. */
export function hasHash(source: Source, hash: number): boolean {
  if ((source.bloomA & bloomBitA(hash)) === 0 || (source.bloomB & bloomBitB(hash)) === 0) return false;
  return source.hashes.includes(hash);
}

/** The bit selected by bits 27 to 31 of a hash. */
export function bloomBitA(hash: number): number {
  return 1 << (hash >>> 27);
}

/** The bit selected by bits 22 to 26 of a hash. A shift uses only the lowest five bits of its distance. */
export function bloomBitB(hash: number): number {
  return 1 << (hash >>> 22);
}
