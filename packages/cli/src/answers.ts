/**
 * Whether an answer is what a command goes on with. Only the fields that commands show are looked at, so that a newer
 * Gatehouse, which answers with more, is understood too.
 */

import type { AccessTestReport } from "@gatehouse/contract/records/access-test";
import type { ApiKey, NewApiKey } from "@gatehouse/contract/records/api-key";
import type { Configuration, ConfigurationPlan } from "@gatehouse/contract/records/configuration";
import type { AccessDecision, FoundAccess } from "@gatehouse/contract/records/decision";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { PastAccess } from "@gatehouse/contract/records/past-access";
import type { AccessPreview } from "@gatehouse/contract/records/preview";
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

export function isListedUser(answer: unknown): answer is { readonly id: string; readonly email: string } {
  return hasStrings(answer, ["id", "email"]);
}

export function isNewDevice(answer: unknown): answer is { readonly id: string; readonly name: string } {
  return hasStrings(answer, ["id", "name"]);
}

export function isNewDeviceToken(answer: unknown): answer is { readonly token: string } {
  return hasStrings(answer, ["token"]);
}

export function isDeviceConfiguration(answer: unknown): answer is DeviceConfiguration {
  return hasStrings(answer, ["device", "ipv4", "ipv6"]) && isArrayOf(isDeviceGateway)(answer.gateways);
}

function isDeviceGateway(value: unknown): value is object {
  if (!hasStrings(value, ["gateway", "publicKey"])) return false;
  return [value.addresses, value.allowedIps, value.names, value.relays].every(isArrayOf(isString));
}

export function isConfiguration(answer: unknown): answer is Configuration {
  return isObject(answer) && answer.version === 1;
}

export function isConfigurationPlan(answer: unknown): answer is ConfigurationPlan {
  return (
    isObject(answer) &&
    typeof answer.generation === "number" &&
    isObject(answer.summary) &&
    ["created", "updated", "deleted"].every(
      (count) => isObject(answer.summary) && typeof answer.summary[count] === "number",
    ) &&
    isArrayOf(isChange)(answer.changes)
  );
}

function isChange(value: unknown): value is object {
  return hasStrings(value, ["action", "kind", "name"]) && isArrayOf(isFieldChange)(value.fields);
}

function isFieldChange(value: unknown): value is object {
  return hasStrings(value, ["field"]);
}

export function isAccessDecision(answer: unknown): answer is AccessDecision {
  if (!isObject(answer) || typeof answer.decision !== "boolean" || !isObject(answer.context)) return false;
  const { reason, explanation } = answer.context;
  return (
    isString(reason) && (explanation === undefined || (isObject(explanation) && Array.isArray(explanation.policies)))
  );
}

/** A page of what was found. */
export interface FoundPage {
  readonly page: { readonly next_token: string };
  readonly context: { readonly found: readonly FoundAccess[] };
}

export function isFoundPage(answer: unknown): answer is FoundPage {
  if (!isObject(answer) || !isObject(answer.context) || !hasStrings(answer.page, ["next_token"])) return false;
  return isArrayOf((item): item is FoundAccess => hasStrings(item, ["id", "name", "reason"]))(answer.context.found);
}

export function isPastAccess(answer: unknown): answer is PastAccess {
  if (!isObject(answer) || !isArrayOf((item) => hasStrings(item, ["name"]))(answer.gateways)) return false;
  const named = [answer.user, answer.resource, answer.policy, ...(answer.device === undefined ? [] : [answer.device])];
  return named.every((item) => hasStrings(item, ["id", "name"]));
}

export function isAccessPreview(answer: unknown): answer is AccessPreview {
  if (!isObject(answer)) return false;
  const { gained, lost, groups, brokenTests } = answer;
  const counts = [gained, lost].every((of) => isObject(of) && typeof of.pairs === "number");
  return (
    counts &&
    isArrayOf(isEffectGroup)(groups) &&
    isArrayOf((test): test is object => hasStrings(test, ["name"]))(brokenTests)
  );
}

function isEffectGroup(value: unknown): value is object {
  return hasStrings(value, ["change", "before", "after"]) && Array.isArray(value.subjects);
}

export function isAccessTestReport(answer: unknown): answer is AccessTestReport {
  return (
    isObject(answer) &&
    isArrayOf((test): test is object => isObject(test) && isObject(test.state) && Array.isArray(test.state.broken))(
      answer.tests,
    )
  );
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
