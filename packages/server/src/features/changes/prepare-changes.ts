/** Validates all changes of a set before any of them is performed, with the errors of their own operations. */
import type { ErrorCode } from "@gatehouse/contract/errors";
import { defaultBodyLimitBytes, isDangerous, type Operation, takesIfMatch } from "@gatehouse/contract/operation";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { Change } from "@gatehouse/contract/records/change-set";
import type { Work } from "@gatehouse/policy/work";
import { AppError, bodyField, reportedFields } from "../../platform/app-error.ts";
import { authorize } from "../../platform/authorization/granted.ts";
import type { Call, FoundRequest } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import type { CheckedRequest } from "../../platform/inner-request.ts";
import { isSmall, jsonParts } from "../../platform/json-slices.ts";
import { replaceInBody, replaceInPath } from "./change-references.ts";

/** A validated change. */
export interface PreparedChange {
  readonly index: number;
  readonly change: Change;
  readonly found: FoundRequest;
  /** The request, with placeholders for the ids of records that earlier changes create. */
  readonly checked: CheckedRequest;
  /** The placeholder for the id of the record that this change creates; undefined if it has no name. */
  readonly placeholder: string | undefined;
}

/** The operations that a set can include. */
export interface SetRules {
  readonly allows: (operation: Operation) => boolean;
  /** The error of a change that the set cannot include. */
  readonly refusal: ErrorCode;
  /** The most characters of all bodies together, except those with limits of their own; undefined for no limit. */
  readonly bodyCharacters?: number;
  /** The end of the sentence about such a change. */
  readonly refused: (operation: Operation | undefined) => string;
}

/** The parts of a call that validation needs. */
export type PreparingCall = Pick<Call<Operation>, "plannedRequests" | "permissions">;

interface Candidate {
  readonly index: number;
  readonly change: Change;
  /** Undefined if the set cannot include the operation. */
  readonly found: FoundRequest | undefined;
  readonly operation: Operation | undefined;
  readonly problems: ProblemField[];
}

/**
 * Validates all changes, in slices, in the order in which requests are checked: missing permissions are reported first,
 * then bodies that are too large, then invalid forms, then what the set cannot include.
 *
 * @throws AppError permission_denied, invalid_body, invalid_json, invalid_parameter, invalid_change_reference, and the
 * refusal of the rules; pointing to the change
 */
export function* prepareChanges(
  call: PreparingCall,
  changes: readonly Change[],
  rules: SetRules,
): Work<readonly PreparedChange[]> {
  const names = new Names(changes);
  const candidates = changes.map((change, index): Candidate => {
    const problems: ProblemField[] = [];
    const path = replaceInPath(change.path, (name) =>
      names.placeholder(name, index, `/changes/${index}/path`, problems),
    );
    const found = call.plannedRequests.find({ method: change.method, path });
    const operation = found?.operation;
    const isAllowed = operation !== undefined && rules.allows(operation);
    return { index, change, found: isAllowed ? found : undefined, operation, problems };
  });
  for (const { index, change, found } of candidates) {
    const access = found?.operation.access ?? "operator";
    if (access === "operator" || access === "any-key" || access === "person") continue;
    try {
      authorize(call.permissions, access);
    } catch (error) {
      throw refusalAt(index, change, error);
    }
  }
  yield* requireSize(candidates, rules.bodyCharacters);
  const checked: (CheckedRequest | undefined)[] = [];
  for (const candidate of candidates) {
    const { index, change, found } = candidate;
    try {
      checked.push(found === undefined ? undefined : yield* checkChange(candidate, found, names));
    } catch (error) {
      throw refusalAt(index, change, error);
    }
  }
  return candidates.map(({ index, change, found, operation, problems }) => {
    const request = checked[index];
    if (found === undefined || request === undefined) {
      const message = `${described(change)} ${rules.refused(operation)}`;
      throw new AppError(rules.refusal, { errors: [bodyField(`/changes/${index}`, message)] });
    }
    problems.push(...names.problemsOf(index, found.operation));
    if (problems.length > 0) throw new AppError("invalid_change_reference", { errors: problems });
    const placeholder = change.as === undefined ? undefined : names.own(change.as);
    return { index, change, found, checked: request, placeholder };
  });
}

/**
 * Each body has the limit of its operation, as if it had been sent by itself.
 *
 * @param limit the most characters of all bodies together
 * @throws AppError payload_too_large
 */
function* requireSize(candidates: readonly Candidate[], limit: number | undefined): Work<void> {
  let characters = 0;
  for (const { index, change, operation } of candidates) {
    if (change.body === undefined) continue;
    const { bodyLimitBytes } = operation ?? {};
    const isCounted = limit !== undefined && bodyLimitBytes === undefined;
    // The JSON of a small body is far below any limit.
    if (!isCounted && isSmall(change.body)) continue;
    let bytes = 0;
    for (const part of yield* jsonParts(change.body)) {
      bytes += Buffer.byteLength(part);
      if (isCounted) characters += part.length;
    }
    const own = bodyLimitBytes ?? defaultBodyLimitBytes;
    if (bytes > own) {
      const detail = `The body has ${bytes} bytes, and ${operation?.id ?? "a request"} takes at most ${own}.`;
      throw refusalAt(index, change, new AppError("payload_too_large", { detail }));
    }
    if (limit === undefined || characters <= limit) continue;
    const detail = `The bodies of the changes exceed ${limit / 1_048_576} MiB together. Preview fewer changes.`;
    throw new AppError("payload_too_large", { detail });
  }
}

/** @throws AppError invalid_parameter, invalid_body, invalid_json */
function* checkChange({ index, change, problems }: Candidate, found: FoundRequest, names: Names): Work<CheckedRequest> {
  const { operation } = found;
  const body = yield* replaceInBody(change.body, operation.body, ({ pointer, name, idOnly }) => {
    if (!idOnly && !names.isDeclaredBefore(name, index)) return undefined;
    return names.placeholder(name, index, `/changes/${index}/body${pointer}`, problems);
  });
  const request = yield* found.check(body);
  if (change.ifMatch !== undefined && !takesIfMatch(operation)) {
    const message = `${operation.id} changes no existing record, so it takes no If-Match`;
    throw new AppError("invalid_body", { errors: [bodyField("ifMatch", message)] });
  }
  return { ...request, ifMatch: change.ifMatch };
}

/** The names that changes give to the records that they create. */
class Names {
  readonly #changes: readonly Change[];
  readonly #placeholders = new Map<string, string>();
  readonly #declaredAt = new Map<string, number>();

  constructor(changes: readonly Change[]) {
    this.#changes = changes;
    for (const [index, { as: name }] of changes.entries()) {
      if (name === undefined || this.#declaredAt.has(name)) continue;
      this.#declaredAt.set(name, index);
    }
  }

  isDeclaredBefore(name: string, index: number): boolean {
    return (this.#declaredAt.get(name) ?? index) < index;
  }

  /** A random id in place of `name`, so that the change can be validated. */
  own(name: string): string {
    const known = this.#placeholders.get(name) ?? newId();
    this.#placeholders.set(name, known);
    return known;
  }

  /**
   * Like `own`, for a reference at `pointer`. Adds a problem, up to the number that is reported, if no change
   * before `index` has the name.
   */
  placeholder(name: string, index: number, pointer: string, problems: ProblemField[]): string {
    if (!this.isDeclaredBefore(name, index) && problems.length < reportedFields) {
      const later = this.#declaredAt.get(name);
      const where = later === undefined ? "no change" : `change ${later}, which is not an earlier one,`;
      problems.push({ pointer, message: `no earlier change creates @${name}: ${where} has "as": "${name}"` });
    }
    return this.own(name);
  }

  /** The problems of the name of a change. */
  problemsOf(index: number, operation: Operation): readonly ProblemField[] {
    const name = this.#changes[index]?.as;
    if (name === undefined) return [];
    const pointer = `/changes/${index}/as`;
    const first = this.#declaredAt.get(name) ?? index;
    if (first < index) return [{ pointer, message: `change ${first} already has the name ${name}` }];
    return createsRecord(operation) ? [] : [{ pointer, message: `${operation.id} creates no record` }];
  }
}

/** Whether the operation answers with the location of a record that it created. */
function createsRecord({ method, parameters, success }: Operation): boolean {
  if (method !== "POST" || success.status !== 201) return false;
  return parameters === undefined || ("located" in success && success.located === true);
}

function described({ method, path }: Change): string {
  return `${method} ${path.slice(0, 200)}`;
}

/** The refusal of a change as a refusal of the set. Other errors are returned unchanged. */
export function refusalAt(index: number, change: Change, error: unknown): unknown {
  if (!(error instanceof AppError) || error.status >= 500) return error;
  const pointer = `/changes/${index}`;
  return new AppError(error.code, {
    detail: `${described(change)}: ${error.detail}`,
    errors: [bodyField(pointer, error.detail), ...(error.errors ?? []).map((field) => within(pointer, field))],
    cause: error,
  });
}

/**
 * A field of a nested request, as a field of the set. Pointers may refer to the body, to a path parameter, or to
 * another record by its path.
 */
function within(pointer: string, { pointer: inner, message }: ProblemField): ProblemField {
  if (inner.startsWith("/tenants/")) return { pointer: inner, message };
  if (inner === "ifMatch") return { pointer: `${pointer}/ifMatch`, message };
  return { pointer: inner === "" || inner.startsWith("/") ? `${pointer}/body${inner}` : `${pointer}/path`, message };
}

/** @throws AppError recent_authentication_required for dangerous changes without a recent authentication */
export function requireRecentFor(
  call: { requireRecentAuthentication(): void },
  prepared: readonly PreparedChange[],
): void {
  if (prepared.some(({ found, checked }) => isDangerous(found.operation, checked.body)))
    call.requireRecentAuthentication();
}
