/**
 * Checks whether responses have the expected form. They check only the fields that commands use, so that responses of
 * newer servers with more fields are accepted.
 */

import type { AccessTestReport } from "@gatehouse/contract/records/access-test";
import type { ApiKey, NewApiKey } from "@gatehouse/contract/records/api-key";
import type { ChangeSetResult } from "@gatehouse/contract/records/change-set";
import type { Configuration, ConfigurationPlan } from "@gatehouse/contract/records/configuration";
import type { AccessDecision, FoundAccess } from "@gatehouse/contract/records/decision";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { ListedDeviceSession } from "@gatehouse/contract/records/device-session";
import type { Domain } from "@gatehouse/contract/records/domain";
import type { EnrolmentKey, NewEnrolmentKey } from "@gatehouse/contract/records/enrolment-key";
import type { EnrolmentLink, NewEnrolmentLink } from "@gatehouse/contract/records/enrolment-link";
import type { Gateway } from "@gatehouse/contract/records/gateway";
import type { IdentityProvider } from "@gatehouse/contract/records/identity-provider";
import type { PastAccess } from "@gatehouse/contract/records/past-access";
import type { AccessPreview } from "@gatehouse/contract/records/preview";
import type { Revert } from "@gatehouse/contract/records/revert";
import type { Session } from "@gatehouse/contract/records/session";
import type { NewTenant, Tenant } from "@gatehouse/contract/records/tenant";
import type { TenantSettings } from "@gatehouse/contract/records/tenant-settings";

export type ResponseCheck<T> = (response: unknown) => response is T;

/** A response without a body. */
export function isNothing(response: unknown): response is undefined {
  return response === undefined;
}

export function isChangeSetResult(response: unknown): response is ChangeSetResult {
  return isObject(response) && typeof response.generation === "number" && isArrayOf(isChangeResult)(response.changes);
}

function isChangeResult(value: unknown): value is object {
  return isObject(value) && typeof value.status === "number" && isArrayOf(isString)(value.events);
}

export function isGatewayVersion(value: unknown): value is Pick<Gateway, "name" | "agentVersion"> {
  return hasStrings(value, ["name"]) && (!("agentVersion" in value) || typeof value.agentVersion === "string");
}

export function isTenant(response: unknown): response is Tenant {
  return hasStrings(response, ["id", "name", "ownerEmail", "createdAt"]);
}

export function isNewTenant(response: unknown): response is NewTenant {
  return isObject(response) && isTenant(response.tenant) && isNewApiKey(response.apiKey);
}

export function isApiKey(response: unknown): response is ApiKey {
  return (
    hasStrings(response, ["id", "name", "prefix"]) &&
    isArrayOf(isString)(response.permissions) &&
    isStringOrAbsent(response.expiresAt) &&
    isStringOrAbsent(response.lastUsedAt)
  );
}

export function isNewApiKey(response: unknown): response is NewApiKey {
  return isApiKey(response) && hasStrings(response, ["key"]);
}

export function isCurrentSession(response: unknown): response is Session {
  return (
    hasStrings(response, ["id", "method", "authenticatedAt", "expiresAt"]) &&
    typeof response.current === "boolean" &&
    hasStrings(response.user, ["id", "email"])
  );
}

export function isEnrolmentKey(response: unknown): response is EnrolmentKey {
  return (
    hasStrings(response, ["id", "name", "prefix", "status", "expiresAt"]) &&
    hasStrings(response.user, ["id", "email"]) &&
    isArrayOf(isString)(response.tags) &&
    typeof response.uses === "number" &&
    typeof response.maxUses === "number"
  );
}

export function isNewEnrolmentKey(response: unknown): response is NewEnrolmentKey {
  return isEnrolmentKey(response) && hasStrings(response, ["key"]);
}

export function isEnrolmentLink(response: unknown): response is EnrolmentLink {
  return hasStrings(response, ["id", "createdAt", "expiresAt"]) && isStringOrAbsent(response.usedAt);
}

export function isNewEnrolmentLink(response: unknown): response is NewEnrolmentLink {
  return isEnrolmentLink(response) && hasStrings(response, ["url", "code"]);
}

export function isIdentityProvider(response: unknown): response is IdentityProvider {
  return (
    hasStrings(response, ["id", "name", "issuer", "clientId", "redirectUri", "signInUrl"]) &&
    typeof response.enabled === "boolean" &&
    (response.testedAt === null || isString(response.testedAt))
  );
}

export function isDomain(response: unknown): response is Domain {
  return (
    hasStrings(response, ["id", "domain", "recordName", "recordValue"]) &&
    (response.verifiedAt === null || isString(response.verifiedAt))
  );
}

export function isProviderTest(response: unknown): response is { readonly url: string } {
  return hasStrings(response, ["url"]);
}

export function isListedUser(response: unknown): response is { readonly id: string; readonly email: string } {
  return hasStrings(response, ["id", "email"]);
}

export function isNamed(response: unknown): response is { readonly id: string; readonly name: string } {
  return hasStrings(response, ["id", "name"]);
}

export function isDeviceSession(response: unknown): response is ListedDeviceSession {
  return (
    hasStrings(response, ["id", "state"]) &&
    hasStrings(response.device, ["id", "name"]) &&
    hasStrings(response.user, ["id", "email"]) &&
    isStringOrAbsent(response.endsAt)
  );
}

export function isNewDevice(response: unknown): response is { readonly id: string; readonly name: string } {
  return hasStrings(response, ["id", "name"]);
}

/** The record of a gateway or device whose key was reset. */
export function isKeyReset(response: unknown): response is { readonly name: string; readonly keyResetUntil: string } {
  return hasStrings(response, ["name", "keyResetUntil"]);
}

export function isNewDeviceToken(response: unknown): response is { readonly token: string } {
  return hasStrings(response, ["token"]);
}

export function isDeviceConfiguration(response: unknown): response is DeviceConfiguration {
  return hasStrings(response, ["device", "ipv4", "ipv6"]) && isArrayOf(isDeviceGateway)(response.gateways);
}

function isDeviceGateway(value: unknown): value is object {
  if (!hasStrings(value, ["gateway", "publicKey"])) return false;
  return [value.addresses, value.allowedIps, value.names, value.relays].every(isArrayOf(isString));
}

export function isConfiguration(response: unknown): response is Configuration {
  return isObject(response) && response.version === 1;
}

export function isConfigurationPlan(response: unknown): response is ConfigurationPlan {
  return (
    isObject(response) &&
    typeof response.generation === "number" &&
    isObject(response.summary) &&
    ["created", "updated", "deleted"].every(
      (count) => isObject(response.summary) && typeof response.summary[count] === "number",
    ) &&
    isArrayOf(isChange)(response.changes)
  );
}

function isChange(value: unknown): value is object {
  return hasStrings(value, ["action", "kind", "name"]) && isArrayOf(isFieldChange)(value.fields);
}

function isFieldChange(value: unknown): value is object {
  return hasStrings(value, ["field"]);
}

export function isTenantSettings(response: unknown): response is TenantSettings {
  return (
    hasStrings(response, ["deviceApproval"]) &&
    [response.configurationLifetime, response.sessionLifetime, response.sessionIdleTime].every(
      (value) => typeof value === "number",
    ) &&
    typeof response.singleSignOnOnly === "boolean" &&
    isString(response.deviceApproval) &&
    (response.deviceSessionLifetime === null || typeof response.deviceSessionLifetime === "number")
  );
}

export function isAccessDecision(response: unknown): response is AccessDecision {
  if (!isObject(response) || typeof response.decision !== "boolean" || !isObject(response.context)) return false;
  const { reason, explanation } = response.context;
  return (
    isString(reason) && (explanation === undefined || (isObject(explanation) && Array.isArray(explanation.policies)))
  );
}

/** A page of search results. */
export interface FoundPage {
  readonly page: { readonly next_token: string };
  readonly context: { readonly found: readonly FoundAccess[]; readonly reason?: string };
}

export function isFoundPage(response: unknown): response is FoundPage {
  if (!isObject(response) || !isObject(response.context) || !hasStrings(response.page, ["next_token"])) return false;
  const { reason } = response.context;
  if (reason !== undefined && !isString(reason)) return false;
  return isArrayOf((item): item is FoundAccess => hasStrings(item, ["id", "name", "reason"]))(response.context.found);
}

export function isPastAccess(response: unknown): response is PastAccess {
  if (!isObject(response) || !isArrayOf((item) => hasStrings(item, ["name"]))(response.gateways)) return false;
  const named = [
    response.user,
    response.resource,
    response.policy,
    ...(response.device === undefined ? [] : [response.device]),
  ];
  return named.every((item) => hasStrings(item, ["id", "name"]));
}

export function isAccessPreview(response: unknown): response is AccessPreview {
  if (!isObject(response)) return false;
  const { gained, lost, groups, brokenTests } = response;
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

export function isAccessTestReport(response: unknown): response is AccessTestReport {
  return (
    isObject(response) &&
    isArrayOf((test): test is object => isObject(test) && isObject(test.state) && Array.isArray(test.state.broken))(
      response.tests,
    )
  );
}

export function isRevert(response: unknown): response is Revert {
  if (!isObject(response) || typeof response.generation !== "number") return false;
  const { changes, undoes, cannot, access } = response;
  return (
    isArrayOf((change): change is object => hasStrings(change, ["method", "path"]))(changes) &&
    isArrayOf(isUndone)(undoes) &&
    isArrayOf((reason): reason is object => hasStrings(reason, ["code", "message"]))(cannot) &&
    (access === undefined || isAccessPreview(access))
  );
}

function isUndone(value: unknown): value is object {
  return hasStrings(value, ["id", "operation"]) && isObject(value.target) && isArrayOf(isString)(value.fields);
}

export function isArrayOf<T>(isItem: ResponseCheck<T>): ResponseCheck<readonly T[]> {
  return (response) => Array.isArray(response) && response.every(isItem);
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
