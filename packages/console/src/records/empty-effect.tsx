/** Why a planned policy or group gives nobody access: it names nothing, or what it names cannot connect yet. */
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, paged } from "../app/api.ts";
import { usePermission } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import type { PlannedChange } from "./planned-change.ts";

/** Whether an id is of a stored record, and not the name of a record that the changes create. */
const isId = (id: string): boolean => !id.startsWith("@");

/** The fields of a policy that decide whom it concerns. Other bodies have none of them. */
interface PolicyBody {
  readonly active?: boolean;
  readonly action?: boolean;
  readonly allUsers?: boolean;
  readonly allGroups?: boolean;
  readonly allDevices?: boolean;
  readonly allResources?: boolean;
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  readonly devices?: readonly string[];
  readonly resources?: readonly string[];
}

export function EmptyEffect({ changes }: { readonly changes: readonly PlannedChange[] }) {
  const policy = policyIn(changes);
  const joining = usersWhoJoin(changes);
  const canRead = usePermission("users:read");
  const reasons = policy === undefined ? [] : missingIn(policy);
  const asks = (policy !== undefined || joining.length > 0) && reasons.length === 0 && canRead;
  const { data: found } = useQuery({
    queryKey: ["preview", "empty", policy, joining],
    enabled: asks,
    gcTime: 0,
    queryFn: ({ signal }) => (policy === undefined ? peopleIn({ users: joining }, signal) : reasonsFor(policy, signal)),
  });
  const all = [...reasons, ...(found ?? [])];
  if (all.length === 0) return null;
  return (
    <Stack gap={4} mt="xs">
      {all.map((reason) => (
        <Text key={reason}>{reason}</Text>
      ))}
    </Stack>
  );
}

function policyIn(changes: readonly PlannedChange[]): PolicyBody | undefined {
  const change = changes.find(({ method, path }) => method === "POST" && path === "/tenants/policies");
  return change?.body as PolicyBody | undefined; // the body of this operation
}

/** Ids of stored users whom the changes add to groups. */
function usersWhoJoin(changes: readonly PlannedChange[]): readonly string[] {
  const ids = changes.flatMap(({ path, body }) => {
    const [, id] = /^\/tenants\/users\/([^/]+)\/groups$/.exec(path) ?? [];
    const { addedGroups = [] } = (body ?? {}) as { readonly addedGroups?: readonly string[] }; // of this operation
    return id !== undefined && addedGroups.length > 0 ? [id] : [];
  });
  return ids.filter(isId);
}

/** Parts that the policy itself lacks. */
function missingIn(policy: PolicyBody): readonly string[] {
  const { users = [], groups = [], devices = [], resources = [], allUsers, allGroups, allDevices } = policy;
  const hasSubjects =
    [allUsers, allGroups, allDevices].includes(true) || users.length + groups.length + devices.length > 0;
  return [
    ...(hasSubjects ? [] : [t("records.effect.empty.noSubjects")]),
    ...(policy.allResources === true || resources.length > 0 ? [] : [t("records.effect.empty.noResources")]),
  ];
}

/** Parts that its users and resources lack. */
async function reasonsFor(policy: PolicyBody, signal: AbortSignal): Promise<readonly string[]> {
  const [people, resources] = await Promise.all([peopleIn(policy, signal), resourcesIn(policy, signal)]);
  return [...people, ...resources];
}

const mostExamined = 100;

async function peopleIn({ users = [], groups = [] }: PolicyBody, signal: AbortSignal): Promise<readonly string[]> {
  const read = (query: Readonly<Record<string, string>>) =>
    paged("/tenants/users").read({ ...query, limit: mostExamined }, signal);
  const [stored, inGroups] = [users.filter(isId), groups.filter(isId)];
  const pages = await Promise.all([
    ...(stored.length === 0 ? [] : [read({ "filter[id][in]": stored.slice(0, mostExamined).join() })]),
    ...inGroups.slice(0, 10).map((id) => read({ "filter[groups.id]": id })),
  ]);
  if (pages.length === 0) return [];
  const people = [...new Map(pages.flatMap(({ data }) => data.map((user) => [user.id, user] as const))).values()];
  const total = people.length;
  if (total === 0) return [t("records.effect.empty.noMembers")];
  const pending = people.filter(({ status }) => status === "pending").length;
  const inactive = people.filter(({ status }) => status === "inactive").length;
  const deviceless = people.filter(({ status, devices }) => status === "active" && devices.length === 0).length;
  return [
    ...(pending === 0 ? [] : [t("records.effect.empty.pending", { count: pending, total })]),
    ...(inactive === 0 ? [] : [t("records.effect.empty.inactive", { count: inactive, total })]),
    ...(deviceless === 0 ? [] : [t("records.effect.empty.noDevice", { count: deviceless, total })]),
  ];
}

async function resourcesIn({ resources = [] }: PolicyBody, signal: AbortSignal): Promise<readonly string[]> {
  const [id] = resources;
  if (resources.length !== 1 || id === undefined || !isId(id)) return [];
  const resource = await api.get("/tenants/resources/{id}", { path: { id }, signal });
  if (resource.gateways.length === 0) return [t("records.effect.empty.noGateway", { name: resource.name })];
  return resource.gateways.some(({ status }) => status === "ONLINE")
    ? []
    : [t("records.effect.empty.gatewayOffline", { name: resource.name })];
}
