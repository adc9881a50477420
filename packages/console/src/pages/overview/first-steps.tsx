/**
 * The checklist of the first run. Steps expand in place and complete themselves from the records. The content of a step
 * is loaded when it is opened.
 */
import {
  Anchor,
  Button,
  Group,
  List,
  Paper,
  Progress,
  Stack,
  Text,
  ThemeIcon,
  Title,
  UnstyledButton,
} from "@mantine/core";
import { Check, ChevronDown, ChevronRight } from "lucide-react";
import { type ComponentType, useEffect, useId, useRef, useState } from "react";
import { lazyPage } from "../../app/lazy-page.tsx";
import { useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { GuideLink, type GuidePart } from "../../records/guide-link.tsx";
import { areStepsCompleted, rememberCompletedSteps } from "./completed-steps.ts";
import { type Progress as Done, useProgress } from "./use-progress.ts";

const needed = [
  "gateways:write",
  "resources:write",
  "policies:write",
  "users:write",
  "devices:read",
  "decisions:read",
] as const;

const steps = ["gateway", "resource", "device", "policy", "reached"] as const;
type Step = (typeof steps)[number];

const contents: Readonly<Record<Step, ComponentType>> = {
  gateway: lazyPage(async () => (await import("./steps/gateway-step.tsx")).GatewayStep),
  resource: lazyPage(async () => (await import("./steps/resource-step.tsx")).ResourceStep),
  device: lazyPage(async () => (await import("./steps/device-step.tsx")).DeviceStep),
  policy: lazyPage(async () => (await import("./steps/policy-step.tsx")).PolicyStep),
  reached: lazyPage(async () => (await import("./steps/try-step.tsx")).TryStep),
};

const guides: Readonly<Record<Step, GuidePart>> = {
  gateway: "gateway#install",
  resource: "console#publish-a-resource",
  device: "device#enrol",
  policy: "console#policies",
  reached: "console#access",
};

/** Steps that select a resource need one first. */
const needResource: readonly Step[] = ["policy", "reached"];

export function FirstSteps() {
  const { tenant } = useSession();
  return useCanTakeSteps() && <RememberedSteps key={tenant.id} tenant={tenant.id} />;
}

function useCanTakeSteps(): boolean {
  const { permissions } = useSession();
  return needed.every((permission) => permissions.includes(permission));
}

/** Whether the checklist is shown to a tenant without gateways. It then offers to create the first one. */
export function useOffersGateway(): boolean {
  const { tenant } = useSession();
  const canTakeSteps = useCanTakeSteps();
  return canTakeSteps && !areStepsCompleted(tenant.id);
}

interface StepsOfTenantProps {
  /** Id of the tenant. */
  readonly tenant: string;
}

/** No checklist, and no queries, if the checklist of the tenant was complete in this browser. */
function RememberedSteps({ tenant }: StepsOfTenantProps) {
  // A checklist that completes while the page is open stays until it is closed.
  const [wereCompleted] = useState(() => areStepsCompleted(tenant));
  return wereCompleted ? null : <FollowedSteps tenant={tenant} />;
}

function FollowedSteps({ tenant }: StepsOfTenantProps) {
  const found = useProgress();
  // The first question about access has no answer yet when the last record appears. The checklist stays meanwhile.
  const latest = useRef(found);
  latest.current = found ?? latest.current;
  const progress = latest.current;
  const [wasIncomplete, setIncomplete] = useState(false);
  const isIncomplete = progress !== undefined && steps.some((step) => !progress[step]);
  if (isIncomplete && !wasIncomplete) setIncomplete(true);
  const isComplete = progress !== undefined && !isIncomplete;
  useEffect(() => {
    if (isComplete) rememberCompletedSteps(tenant);
  }, [isComplete, tenant]);
  // A tenant that works needs no guide. One that starts to work while the page is open sees how it ends.
  if (progress === undefined || !wasIncomplete) return null;
  return <Checklist progress={progress} close={() => setIncomplete(false)} />;
}

function Checklist({ progress, close }: { readonly progress: Done; readonly close: () => void }) {
  const [opened, setOpened] = useState<Step>();
  const [announced, setAnnounced] = useState("");
  const list = useRef<HTMLElement>(null);
  const known = useRef(progress);
  const done = steps.filter((step) => progress[step]);
  const current = steps.find((step) => !progress[step]);
  const counts = t("overview.firstSteps.progress", { done: done.length, total: steps.length });
  useEffect(() => {
    const completed = steps.filter((step) => progress[step] && !known.current[step]);
    known.current = progress;
    const [last] = completed.slice(-1);
    if (last === undefined) return;
    setAnnounced(t("overview.firstSteps.completed", { step: t(`overview.firstSteps.${last}.title`), counts }));
    // The next step opens, unless the person works on another one. The last step stays open, with its answer.
    setOpened((now) => (now === undefined || completed.includes(now) ? (current ?? "reached") : now));
  }, [progress, current, counts]);
  useEffect(() => {
    // The focused content was removed.
    if (opened === undefined || document.activeElement !== document.body) return;
    list.current?.querySelector<HTMLElement>("[aria-expanded=true]")?.focus();
  }, [opened]);
  return (
    <Paper withBorder p="md" component="section" aria-label={t("overview.firstSteps.title")} ref={list}>
      <Group justify="space-between" className="panel-head">
        <Title order={2}>{t("overview.firstSteps.title")}</Title>
        <Text size="sm" c="dimmed">
          {counts}
        </Text>
      </Group>
      <div className="unseen" aria-live="polite">
        {announced}
      </div>
      <Progress
        value={(done.length / steps.length) * 100}
        size="sm"
        mb="md"
        aria-label={t("overview.firstSteps.title")}
      />
      <List listStyleType="none" spacing="sm" className="first-steps">
        {steps.map((step) => (
          <List.Item key={step} {...(step === current ? { "aria-current": "step" as const } : {})}>
            <OneStep
              step={step}
              isDone={progress[step]}
              isNext={step === current && opened === undefined}
              isOpen={step === opened}
              lacksResource={needResource.includes(step) && !progress.resource}
              open={setOpened}
              toggle={() => setOpened(step === opened ? undefined : step)}
            />
          </List.Item>
        ))}
      </List>
      {current === undefined && (
        <Group mt="md" justify="space-between">
          <Text fw={600}>{t("overview.firstSteps.complete")}</Text>
          <Button onClick={close}>{t("common.close")}</Button>
        </Group>
      )}
    </Paper>
  );
}

interface OneStepProps {
  readonly step: Step;
  readonly isDone: boolean;
  /** Whether the step is the one to start. None is while another one is open. */
  readonly isNext: boolean;
  readonly isOpen: boolean;
  /** Whether the step needs a resource, and there is none. */
  readonly lacksResource: boolean;
  /** Opens another step. */
  readonly open: (step: Step) => void;
  readonly toggle: () => void;
}

function OneStep({ step, isDone, isNext, isOpen, lacksResource, open, toggle }: OneStepProps) {
  const id = useId();
  const Content = contents[step];
  const Arrow = isOpen ? ChevronDown : ChevronRight;
  return (
    <Stack gap={4}>
      <Title order={3} fz="md">
        <UnstyledButton aria-expanded={isOpen} aria-controls={id} onClick={toggle} w="100%">
          <Group gap="sm" component="span" wrap="nowrap">
            <ThemeIcon component="span" size={22} radius="xl" variant={isDone ? "filled" : "default"} color="green.9">
              {isDone ? <Check size={14} aria-hidden /> : <span aria-hidden>{steps.indexOf(step) + 1}</span>}
            </ThemeIcon>
            <Text component="span" fw={isNext || isOpen ? 600 : 400} flex={1} {...(isDone ? { c: "dimmed" } : {})}>
              {t(`overview.firstSteps.${step}.title`)}
              {isDone && <span className="unseen"> {t("overview.firstSteps.done")}</span>}
            </Text>
            <Arrow size={16} aria-hidden />
          </Group>
        </UnstyledButton>
      </Title>
      {(isNext || isOpen) && (
        <Text size="sm" c="dimmed" className="first-step-part">
          {t(`overview.firstSteps.${step}.text`)}
          {isOpen && (
            <>
              {" "}
              <GuideLink to={guides[step]} />
            </>
          )}
        </Text>
      )}
      {isNext && (
        <div className="first-step-part first-step-start">
          <Button size="xs" onClick={toggle}>
            {t("overview.firstSteps.start")}
          </Button>
        </div>
      )}
      <section
        id={id}
        className="first-step first-step-part"
        aria-label={t(`overview.firstSteps.${step}.title`)}
        hidden={!isOpen}
      >
        {isOpen && (lacksResource ? <ResourceFirst open={open} /> : <Content />)}
      </section>
    </Stack>
  );
}

function ResourceFirst({ open }: { readonly open: (step: Step) => void }) {
  return (
    <Text size="sm">
      <RichText
        message="overview.firstSteps.resourceFirst"
        elements={{
          a: <Anchor component="button" type="button" inherit underline="always" onClick={() => open("resource")} />,
        }}
      />
    </Text>
  );
}
