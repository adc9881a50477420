/** An empty list: the purpose of its records, the action that leads to the first one, and the guide. */
import type { Permission } from "@gatehouse/contract/permissions";
import { Button, Group, Paper, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { usePermissions } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import { GuideLink, type GuidePart } from "./guide-link.tsx";
import { KindMark } from "./kind-icon.tsx";

export interface EmptyList {
  readonly title: string;
  /** The purpose of the records, and how to create the first one. */
  readonly text: string;
  /** Absent for records that nobody creates by hand. */
  readonly action?: EmptyAction;
  readonly guide: GuidePart;
}

/** An empty list in a panel. Its first record may come without an action, or be explained by the text alone. */
export interface EmptyPart {
  readonly title: string;
  readonly text: string;
  readonly action?: EmptyAction | EmptyButton | undefined;
  readonly guide?: GuidePart;
}

interface EmptyAction {
  readonly label: string;
  /** The address of a page or of a form, such as `/groups?new=1`. */
  readonly to: string;
  /** Required for the action. Without the permission, the list offers only the guide. */
  readonly permission: Permission;
}

/** An action of the panel itself, such as opening its form. */
export interface EmptyButton {
  readonly label: string;
  readonly run: () => void;
  readonly permission: Permission;
}

/** The action of lists of access. */
export const createPolicy: EmptyAction = {
  label: t("policies.create"),
  to: "/policies?new=1",
  permission: "policies:write",
};

type EmptyStateProps =
  | {
      readonly empty: EmptyList;
      readonly isPart?: false;
      /** The first part of the path of the records' pages, whose icon is shown. */
      readonly kind?: string | undefined;
    }
  | {
      readonly empty: EmptyPart;
      /** Whether the list is a part of a panel, which has its own frame. */
      readonly isPart: true;
      readonly kind?: undefined;
    };

export function EmptyState({ empty: { title, text, action, guide }, isPart = false, kind }: EmptyStateProps) {
  // The page is still rendered when its session has just ended.
  const permissions = usePermissions();
  const canAct = action !== undefined && permissions.includes(action.permission);
  const content = (
    <Stack align={isPart ? "flex-start" : "center"} gap="xs" data-empty-list>
      {kind !== undefined && <KindMark of={kind} />}
      <Text fw={600}>{title}</Text>
      <Text c="dimmed" ta={isPart ? "start" : "center"} maw={isPart ? 640 : 480}>
        {text}
      </Text>
      {(canAct || guide !== undefined) && (
        <Group gap="md" mt={4} justify={isPart ? "flex-start" : "center"}>
          {canAct && <Action action={action} isPart={isPart} />}
          {guide !== undefined && (
            <Text size="sm" component="span">
              <GuideLink to={guide} />
            </Text>
          )}
        </Group>
      )}
    </Stack>
  );
  if (isPart) return content;
  return (
    <Paper withBorder p="xl">
      {content}
    </Paper>
  );
}

interface ActionProps {
  readonly action: EmptyAction | EmptyButton;
  readonly isPart: boolean;
}

/** The action of an empty list. A page has its own primary action, so the action of a panel is less prominent. */
function Action({ action, isPart }: ActionProps) {
  const look = isPart ? ({ size: "xs", variant: "default" } as const) : {};
  return "to" in action ? (
    <Button component={Link} to={action.to} {...look}>
      {action.label}
    </Button>
  ) : (
    <Button onClick={action.run} {...look}>
      {action.label}
    </Button>
  );
}
