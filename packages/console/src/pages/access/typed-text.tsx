import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";

interface TypedTextProps {
  readonly label?: string;
  readonly "aria-label"?: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | undefined;
}

/** Changes the query when the user stops typing, because half an address is invalid. */
export function TypedText({ value, onChange, ...input }: TypedTextProps) {
  const [typed, setTyped] = useState(value);
  const ask = useDebouncedCallback(onChange, 400);
  // Navigating back changes the URL, and with it the text of the field.
  useEffect(() => setTyped((now) => (now.trim() === value ? now : value)), [value]);
  return (
    <TextInput
      {...input}
      maxLength={253}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        ask(currentTarget.value.trim());
      }}
    />
  );
}
