/** Stands for a value that a record does not have: a dash, or words such as "Never". All of them are muted. */
import { Text } from "@mantine/core";

interface AbsentProps {
  readonly children?: string | undefined;
  readonly className?: string;
}

export function Absent({ children = "–", className = "" }: AbsentProps) {
  return (
    <Text span inherit c="dimmed" className={`absent ${className}`}>
      {children}
    </Text>
  );
}

export const absent = <Absent />;
