/** Stands for a value that a record does not have. */
import { Text } from "@mantine/core";

export const absent = (
  <Text span inherit c="dimmed">
    –
  </Text>
);
