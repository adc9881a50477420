/** Says that the server sends no email, and names the settings. */
import { Code, Text } from "@mantine/core";
import { RichText } from "../../messages/rich-text.tsx";
import { GuideLink } from "../../records/guide-link.tsx";

export function NoMail() {
  return (
    <Text size="sm" c="dimmed">
      <RichText message="enrolmentLinks.noMail" elements={{ code: <Code /> }} /> <GuideLink to="configuration#email" />
    </Text>
  );
}
