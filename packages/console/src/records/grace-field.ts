import type { Field, Values } from "./form-fields.tsx";

/** How long what is replaced goes on working beside what replaces it. */
export const graceFields: readonly Field[] = [
  {
    kind: "choice",
    name: "graceSeconds",
    label: "The one before goes on working",
    description: "So that what uses it can change over.",
    options: [
      { value: "0", label: "Not at all: it ends at once" },
      { value: "3600", label: "For an hour" },
      { value: "86400", label: "For a day" },
      { value: "604800", label: "For a week" },
      { value: "2592000", label: "For 30 days" },
    ],
  },
];

export const usualGrace: Values = { graceSeconds: "86400" };

export function graceBody({ graceSeconds }: Values): { readonly graceSeconds: number } {
  return { graceSeconds: Number(graceSeconds) };
}
