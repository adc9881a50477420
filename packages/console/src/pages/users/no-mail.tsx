/** Says that the server sends no email, and names the settings. */
import { Text } from "@mantine/core";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { GuideLink } from "../../records/guide-link.tsx";

export function NoMail() {
  return (
    <Text size="sm" c="dimmed">
      {textWithCode("enrolmentLinks.noMail")} <GuideLink to="configuration#email" />
    </Text>
  );
}
