/** The limits of a list of access: it shows only what policies allow, and contains only resources. */
import { Text } from "@mantine/core";
import { t } from "../messages/i18n.ts";
import { RichText } from "../messages/rich-text.tsx";
import { RecordLink } from "./record-link.tsx";

interface AccessNoteProps {
  /** Whether the list shows who can reach a resource. */
  readonly ofResource: boolean;
  /** Whether the list shows when access began. */
  readonly showsBeginning?: boolean;
}

export function AccessNote({ ofResource, showsBeginning = false }: AccessNoteProps) {
  return (
    <Text size="sm" c="dimmed">
      {t("records.accessTab.byPolicies")}
      {!ofResource && " "}
      {!ofResource && (
        <RichText
          message="records.accessTab.internet"
          elements={{ policies: <RecordLink to="/policies?type=INTERNET" inText /> }}
        />
      )}
      {showsBeginning && ` ${t("records.accessTab.sinceNote")}`}
    </Text>
  );
}
