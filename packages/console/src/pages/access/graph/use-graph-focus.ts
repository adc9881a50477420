/** Loads the record that the graph is filtered by, and the keys through which policies match it. */
import { useQuery } from "@tanstack/react-query";
import { t } from "../../../messages/i18n.ts";
import { nameChosen } from "../../../records/record-picker.tsx";
import { readRecord } from "../../../records/use-record.ts";
import { allDevices, allGroups, allUsers, type Focus, type Leaf, leafOf, type Path } from "./graph-paths.ts";

/** The focus is undefined if the graph has no filter, or while the record loads. */
export function useGraphFocus(key: string, paths: readonly Path[], gateways: readonly Leaf[]) {
  const [kind = "", id = ""] = key.split(":");
  const isRead = ["user", "device", "group", "resource"].includes(kind);
  const query = useQuery({
    queryKey: ["graph", "focus", key],
    enabled: isRead,
    queryFn: ({ signal }) => readFocus(kind, id, signal),
  });
  if (isRead) return { focus: query.data, error: query.error, isPending: query.isPending };
  return { focus: key === "" ? undefined : findFocus(key, paths, gateways), error: null, isPending: false };
}

async function readFocus(kind: string, id: string, signal: AbortSignal): Promise<Focus> {
  if (kind === "user") {
    const { leaf, keys } = await readUser(id);
    return { leaf, sourceKeys: keys };
  }
  if (kind === "device") {
    const { record } = await readRecord("/tenants/devices/{id}", id);
    const leaf = leafOf("device", record.id, record.name, record.user?.email);
    const owner = record.user === undefined ? undefined : await readUser(record.user.id);
    const others = [...(owner?.keys ?? [])].filter((key) => !key.startsWith("device:"));
    return { leaf, sourceKeys: new Set([...others, leaf.key, allDevices.key]) };
  }
  const path = kind === "group" ? "/tenants/groups" : "/tenants/resources";
  const [found] = await nameChosen(path, [id], signal);
  const name = found?.name ?? t("graph.removedRecord");
  if (kind === "resource") return { leaf: leafOf("resource", id, name) };
  const leaf = leafOf("group", id, name);
  return { leaf, sourceKeys: new Set([leaf.key, allGroups.key, allUsers.key]) };
}

/** The user, and the keys through which policies match the user. */
async function readUser(id: string) {
  const { record } = await readRecord("/tenants/users/{id}", id);
  const leaf = leafOf("user", record.id, record.email ?? record.id);
  const groups = record.groups.map((group) => `group:${group.id}`);
  const devices = record.devices.map((device) => `device:${device.id}`);
  const keys = new Set([
    leaf.key,
    allUsers.key,
    ...groups,
    ...(groups.length > 0 ? [allGroups.key] : []),
    ...devices,
    ...(devices.length > 0 ? [allDevices.key] : []),
  ]);
  return { leaf, keys };
}

function findFocus(key: string, paths: readonly Path[], gateways: readonly Leaf[]): Focus {
  const leaves = paths.flatMap(({ policy, sources, resources }) => [policy, ...sources, ...resources]);
  const found = [...gateways, ...leaves].find((leaf) => leaf.key === key);
  return { leaf: found ?? { key, kind: "words", name: t("graph.unknownRecord") } };
}
