/** The button that requires users to sign in again on their devices. The dialog states how many devices lose access. */
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { paged } from "../app/api.ts";
import { usePermission } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import { ReviewedButton } from "./reviewed-change.tsx";

/** The device, the user or the group. */
interface Target {
  readonly kind: "device" | "user" | "group";
  readonly id: string;
  readonly name: string;
}

const titles = {
  device: "deviceSessions.requireSignIn.titleDevice",
  user: "deviceSessions.requireSignIn.titleUser",
  group: "deviceSessions.requireSignIn.titleGroup",
} as const;
const filters = { device: "filter[id]", user: "filter[user.id]", group: "filter[group.id]" } as const;

export function RequireSignIn({ target, size = "sm" }: { readonly target: Target; readonly size?: "xs" | "sm" }) {
  const canWrite = usePermission("devices:write");
  const { kind, id, name } = target;
  if (!canWrite) return null;
  return (
    <ReviewedButton
      label={t("deviceSessions.requireSignIn.label")}
      title={t(titles[kind], { name })}
      note={<AccessLoss target={target} />}
      changes={[{ method: "POST", path: "/tenants/device-sessions/require-sign-in", body: { [`${kind}s`]: [id] } }]}
      // Sessions are not part of effects: the note states what is lost.
      changesAccess={false}
      doneMessage={t("deviceSessions.requireSignIn.done")}
      size={size}
      danger
    />
  );
}

function AccessLoss({ target: { kind, id } }: { readonly target: Target }) {
  const canRead = usePermission("devices:read");
  const { data, error } = useQuery({
    queryKey: ["/tenants/device-sessions", "count", kind, id],
    enabled: canRead,
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const query = {
        [filters[kind]]: id,
        "filter[state][in]": "active,not-signed-in",
        "filter[device.active]": "true",
        limit: 1,
      };
      return (await paged("/tenants/device-sessions").read(query, signal)).total;
    },
  });
  return (
    <Stack gap="xs">
      <Text fw={600} aria-live="polite">
        {data !== undefined
          ? data === 0
            ? t("deviceSessions.requireSignIn.none")
            : t("deviceSessions.requireSignIn.effect", { count: data })
          : canRead && error === null
            ? t("deviceSessions.requireSignIn.counting")
            : t("deviceSessions.requireSignIn.unknown")}
      </Text>
      <Text>
        {t("deviceSessions.requireSignIn.how")} {kind !== "device" && t("deviceSessions.requireSignIn.servers")}
      </Text>
    </Stack>
  );
}
