import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { PolicyList } from "../model/policy-list.ts";
import type { Parts, SourceIndex } from "../model/source-index.ts";
import type { Asker } from "./asker.ts";

type Policies = readonly CompiledPolicy[];

/**
 * The policies of a list that apply to a source and a destination, one after the other in the order of evaluation. Reads no further
 * than it is asked: most decisions are made by the first few.
 */
export class Candidates {
  /** Each in order of rank; no policy stands in two of them. */
  readonly #lists: Policies[] = [];
  /** What comes next in each. */
  readonly #places: number[] = [];

  /** @param resource undefined for traffic to no resource, of which INTERNET policies alone decide */
  constructor(model: Model, list: PolicyList, asker: Asker, resource: CompiledResource | undefined) {
    this.#collect(model, resource === undefined ? list.anywhere : list.everywhere, asker);
    const named = resource?.policiesIn(list);
    if (named !== undefined) this.#collect(model, named, asker);
  }

  /** @returns undefined when there is none left */
  next(): CompiledPolicy | undefined {
    const lists = this.#lists;
    let from = -1;
    let first: CompiledPolicy | undefined;
    for (let index = 0; index < lists.length; index += 1) {
      const policy = lists[index]?.[this.#places[index] ?? 0];
      if (policy !== undefined && (first === undefined || policy.rank < first.rank)) {
        first = policy;
        from = index;
      }
    }
    if (from >= 0) this.#places[from] = (this.#places[from] ?? 0) + 1;
    return first;
  }

  #collect(model: Model, index: SourceIndex, asker: Asker): void {
    if (index.parts === undefined) {
      this.#add(askedInTurn(index, asker));
      return;
    }
    this.#add(index.parts.anyone);
    this.#add(lookedUp(model, index, index.parts, asker));
  }

  #add(list: Policies): void {
    if (list.length === 0) return;
    this.#lists.push(list);
    this.#places.push(0);
  }
}

const none: Policies = [];

function askedInTurn({ policies, marks }: SourceIndex, asker: Asker): Policies {
  let applying: CompiledPolicy[] | undefined;
  for (let index = 0; index < marks.length; index += 1) {
    const mark = marks[index] ?? 0;
    // Policies for anybody have every mark, and a site none.
    if ((mark & asker.marks) === 0 && mark !== -1) continue;
    const policy = policies[index];
    if (policy === undefined || !policy.appliesTo(asker)) continue;
    if (applying === undefined) applying = [policy];
    else applying.push(policy);
  }
  return applying ?? none;
}

/** Those that name the source in one way or another, but are not for anyone at all. */
function lookedUp(model: Model, index: SourceIndex, parts: Parts, asker: Asker): Policies {
  const { user, deviceId, groupIds } = asker;
  const ofUser = user === undefined ? none : user.policiesIn(index, model.groups);
  const ofGroups = groupIds.length === 0 ? none : parts.anyGroup;
  if (deviceId === undefined) return merged([ofUser, ofGroups]);
  return merged([ofUser, ofGroups, parts.anyDevice, parts.byDevice.get(deviceId) ?? none]);
}

/** Lists in order of rank as one; a policy may stand in several of them. */
function merged(lists: readonly Policies[]): Policies {
  const filled = lists.filter(({ length }) => length > 0);
  if (filled.length < 2) return filled[0] ?? none;
  return [...new Set(filled.flat())].sort((a, b) => a.rank - b.rank);
}
