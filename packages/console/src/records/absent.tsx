/** Stands for a value that a record does not have: a dash, or words such as "Never". All of them are muted. */
import { Text } from "@mantine/core";

interface AbsentProps {
  readonly children?: string | undefined;
  readonly className?: string;
  /** Says what is absent, if the text alone does not. */
  readonly label?: string;
}

export function Absent({ children = "–", className = "", label }: AbsentProps) {
  const name = label === undefined ? {} : { role: "img", "aria-label": label };
  return (
    <Text span inherit c="dimmed" className={`absent ${className}`} {...name}>
      {children}
    </Text>
  );
}

export const absent = <Absent />;
