/**
 * Whether an answer is what a command goes on with. Only the fields that commands show are looked at, so that a newer
 * Gatehouse, which answers with more, is understood too.
 */
import type { ApiKey, NewApiKey } from "@gatehouse/contract/records/api-key";
import type { NewTenant, Tenant } from "@gatehouse/contract/records/tenant";

export type AnswerCheck<T> = (answer: unknown) => answer is T;

/** The answer without a body. */
export function isNothing(answer: unknown): answer is undefined {
  return answer === undefined;
}

export function isTenant(answer: unknown): answer is Tenant {
  return hasStrings(answer, ["id", "name", "ownerEmail", "createdAt"]);
}

export function isNewTenant(answer: unknown): answer is NewTenant {
  return isObject(answer) && isTenant(answer.tenant) && isNewApiKey(answer.apiKey);
}

export function isApiKey(answer: unknown): answer is ApiKey {
  return (
    hasStrings(answer, ["id", "name", "prefix"]) &&
    isArrayOf(isString)(answer.permissions) &&
    isStringOrAbsent(answer.expiresAt) &&
    isStringOrAbsent(answer.lastUsedAt)
  );
}

export function isNewApiKey(answer: unknown): answer is NewApiKey {
  return isApiKey(answer) && hasStrings(answer, ["key"]);
}

export function isArrayOf<T>(isItem: AnswerCheck<T>): AnswerCheck<readonly T[]> {
  return (answer) => Array.isArray(answer) && answer.every(isItem);
}

function hasStrings<N extends string>(
  value: unknown,
  names: readonly N[],
): value is Record<N, string> & Record<string, unknown> {
  return isObject(value) && names.every((name) => isString(value[name]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isStringOrAbsent(value: unknown): boolean {
  return value === undefined || isString(value);
}
