/** A block of code or of commands, whose long lines scroll. */
import { Code } from "@mantine/core";

interface CodeLinesProps {
  /** The accessible name of the block. */
  readonly label?: string;
  readonly children: string;
}

export function CodeLines({ label, children }: CodeLinesProps) {
  return (
    <Code block tabIndex={0} className="code-lines" aria-label={label}>
      {children}
    </Code>
  );
}
