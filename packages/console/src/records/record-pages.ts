/** The page of the target of an event. */
const folders: Readonly<Record<string, string>> = {
  user: "users",
  group: "groups",
  device: "devices",
  gateway: "gateways",
  resource: "resources",
  address: "addresses",
  protocol: "protocols",
  "admission-rule": "admission-rules",
  policy: "policies",
  "access-test": "access-tests",
  "api-key": "api-keys",
  "enrolment-key": "enrolment-keys",
  "identity-provider": "identity-providers",
  webhook: "webhooks",
};

/** @param type the type of the target. @returns undefined if the console has no such page */
export function pageOf(type: string, id: string): string | undefined {
  const folder = folders[type];
  return folder === undefined ? undefined : `/${folder}/${id}`;
}
