/** The users that an invitation creates, with their groups and roles. The effect on access does not name these. */
import { Stack, Text } from "@mantine/core";
import { formatList } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { nameOfNew, useNamesOf } from "../../records/record-picker.tsx";
import { formatInvitee, type Invitee } from "./read-invitations.ts";

/** The most people or lines that a part of the form shows. */
export const mostShown = 20;

interface InvitationSummaryProps {
  readonly invitees: readonly Invitee[];
  /** Ids of groups, and names of new ones. */
  readonly groups: readonly string[];
  readonly roles: readonly string[];
}

export function InvitationSummary({ invitees, groups, roles }: InvitationSummaryProps) {
  const groupNames = useNamesOf("/tenants/groups", groups);
  const roleNames = useNamesOf("/tenants/roles", roles);
  const newGroups = newGroupsOf(groups);
  return (
    <Stack gap={2}>
      <Text>{t("users.invite.summary", { names: formatInvitees(invitees) })}</Text>
      {groups.length === 0 && <Text>{t("users.invite.summaryDefaultGroup")}</Text>}
      {groups.length > newGroups.length && (
        <Text>
          {t("users.invite.summaryExistingGroups", {
            count: groups.length - newGroups.length,
            names: groupNames === undefined ? "…" : formatList(groupNames),
          })}
        </Text>
      )}
      {newGroups.length > 0 && (
        <Text>{t("users.invite.summaryGroups", { count: newGroups.length, names: formatList(newGroups) })}</Text>
      )}
      {roles.length > 0 && (
        <Text>
          {t("users.invite.summaryRoles", {
            count: roles.length,
            names: roleNames === undefined ? "…" : formatList(roleNames),
          })}
        </Text>
      )}
    </Stack>
  );
}

export function formatInvitees(invitees: readonly Invitee[]): string {
  const shown = invitees.slice(0, mostShown).map(formatInvitee);
  const rest = invitees.length - shown.length;
  return [...shown, ...(rest > 0 ? [t("common.andMore", { count: rest })] : [])].join(", ");
}

/** The names of the groups that are created with the users. */
export function newGroupsOf(groups: readonly string[]): readonly string[] {
  return groups.flatMap((group) => nameOfNew(group) ?? []);
}
