/** The way to the first reached resource. Each step completes itself when the records show that it is done. */
import { Button, Group, List, Paper, Progress, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Circle } from "lucide-react";
import { useRef } from "react";
import { paged, whole } from "../../app/api.ts";
import { useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";

const needed = [
  "gateways:write",
  "resources:write",
  "policies:write",
  "users:write",
  "devices:read",
  "decisions:read",
] as const;

const gateways = whole("/tenants/gateways");
const access = paged("/tenants/access");
const refreshMs = 15_000;

interface Progressed {
  readonly gateway: boolean;
  readonly resource: boolean;
  readonly device: boolean;
  readonly policy: boolean;
  /** The first person who can reach something. */
  readonly reached: ReachedPath | undefined;
}

interface ReachedPath {
  readonly user: { readonly id: string; readonly name: string };
  readonly device?: { readonly id: string; readonly name: string };
  readonly resource: { readonly id: string; readonly name: string };
}

const steps = ["gateway", "resource", "device", "policy", "reached"] as const;
type Step = (typeof steps)[number];

const targets: Readonly<Record<Step, string>> = {
  gateway: "/gateways",
  resource: "/publish",
  device: "/users",
  policy: "/policies",
  reached: "/access",
};

export function FirstSteps() {
  const { permissions } = useSession();
  if (!needed.every((permission) => permissions.includes(permission))) return null;
  return <Steps />;
}

function useProgress(): Progressed | undefined {
  const { data: all } = useQuery({
    queryKey: [gateways.path, "list", undefined],
    queryFn: ({ signal }) => gateways.read(signal),
    refetchInterval: refreshMs,
  });
  const resources = useAny("/tenants/resources");
  const devices = useAny("/tenants/devices");
  const policies = useAny("/tenants/policies", { "filter[type]": "PRIVATE", "filter[action]": "true" });
  const isReady = [resources, devices, policies].every((any) => any === true);
  const { data: found } = useQuery({
    queryKey: [access.path, "first"],
    enabled: isReady,
    refetchInterval: refreshMs,
    queryFn: async ({ signal }) => {
      const { data } = await paged("/tenants/resources").read({ limit: 1 }, signal);
      const [resource] = data;
      return resource === undefined ? [] : (await access.read({ resource: resource.id, limit: 1 }, signal)).data;
    },
  });
  if (all === undefined || resources === undefined || devices === undefined || policies === undefined) return undefined;
  if (isReady && found === undefined) return undefined;
  return {
    gateway: all.some(({ status }) => status === "ONLINE"),
    resource: resources,
    device: devices,
    policy: policies,
    reached: found?.[0],
  };
}

/** Whether a list has records. Undefined while it loads. */
function useAny(
  path: "/tenants/resources" | "/tenants/devices" | "/tenants/policies",
  query: Readonly<Record<string, string>> = {},
): boolean | undefined {
  const { data } = useQuery({
    queryKey: [path, "any", query],
    queryFn: async ({ signal }) => (await paged(path).read({ ...query, limit: 1 }, signal)).total > 0,
    refetchInterval: refreshMs,
  });
  return data;
}

function Steps() {
  const progress = useProgress();
  const wasIncomplete = useRef(false);
  if (progress === undefined) return null;
  const isDone = (step: Step) =>
    step === "reached" ? progress.gateway && progress.reached !== undefined : progress[step];
  const done = steps.filter(isDone);
  const current = steps.find((step) => !isDone(step));
  if (current !== undefined) wasIncomplete.current = true;
  // A tenant that works needs no guide. One that starts to work while the page is open sees how it ends.
  if (!wasIncomplete.current) return null;
  return (
    <Paper withBorder p="md" component="section" aria-label={t("overview.firstSteps.title")}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t("overview.firstSteps.title")}</Title>
        <Text size="sm" c="dimmed" aria-live="polite">
          {t("overview.firstSteps.progress", { done: done.length, total: steps.length })}
        </Text>
      </Group>
      <Progress
        value={(done.length / steps.length) * 100}
        size="sm"
        mb="md"
        aria-label={t("overview.firstSteps.title")}
      />
      <List listStyleType="none" spacing="xs">
        {steps.map((step) => (
          <List.Item
            key={step}
            icon={
              <ThemeIcon size={22} radius="xl" variant={isDone(step) ? "filled" : "default"} color="green.9">
                {isDone(step) ? <Check size={14} aria-hidden /> : <Circle size={10} aria-hidden />}
              </ThemeIcon>
            }
            {...(step === current ? { "aria-current": "step" as const } : {})}
          >
            <Stack gap={4}>
              <Text fw={step === current ? 600 : 400} {...(isDone(step) ? { c: "dimmed" } : {})}>
                {t(`overview.firstSteps.${step}.title`)}
                {isDone(step) && <span className="unseen"> {t("overview.firstSteps.done")}</span>}
              </Text>
              {step === current && (
                <Group gap="sm">
                  <Text size="sm" c="dimmed">
                    {t(`overview.firstSteps.${step}.text`)}
                  </Text>
                  <Button component={Link} to={targets[step]} size="xs">
                    {t(`overview.firstSteps.${step}.action`)}
                  </Button>
                </Group>
              )}
            </Stack>
          </List.Item>
        ))}
      </List>
      {current === undefined && progress.reached !== undefined && <Reached path={progress.reached} />}
    </Paper>
  );
}

/** The question, answered, and the path as a graph. */
function Reached({ path: { user, device, resource } }: { readonly path: ReachedPath }) {
  const query = `user=${user.id}${device === undefined ? "" : `&device=${device.id}`}&resource=${resource.id}`;
  return (
    <Group mt="md" gap="sm">
      <Text fw={600}>
        <RichText
          message="overview.firstSteps.reachedBy"
          values={{ user: user.name, resource: resource.name }}
          elements={{ b: <bdi /> }}
        />
      </Text>
      <Button component={Link} to={`/access?${query}`} size="xs">
        {t("overview.firstSteps.why")}
      </Button>
      <Button component={Link} to={`/access?view=graph&focus=resource:${resource.id}`} size="xs" variant="default">
        {t("overview.firstSteps.path")}
      </Button>
    </Group>
  );
}
