/** Who asks, as far as the sources of policies go. */
export interface Source {
  /** Empty for traffic that enters at a site. */
  readonly userId: string;
  /** Ids of the user's groups, those that there are. */
  readonly groupIds: readonly string[];
  readonly deviceId: string | undefined;
  /** The marks of all these ids together. */
  readonly marks: number;
}

/**
 * One bit of 32 for an id. Where the marks of a source and of a policy have none in common, the policy names nothing of the source;
 * most policies are passed over by that alone, without being looked at.
 */
export function markOf(id: string): number {
  let hash = 0x811c9dc5;
  // The end of a UUIDv7 is random.
  for (let index = Math.max(0, id.length - 8); index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  return 1 << ((hash >>> 15) & 31);
}

/** The marks of several ids together. */
export function marksOf(ids: Iterable<string>): number {
  let marks = 0;
  for (const id of ids) marks |= markOf(id);
  return marks;
}

/** The marks of a policy that may apply to anybody. */
export const everyMark = -1;
