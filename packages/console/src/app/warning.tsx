/** A notice of something that a person should know before going on. */
import { Alert, type AlertProps } from "@mantine/core";

export function Warning(props: AlertProps) {
  return <Alert color="yellow" {...props} />;
}
