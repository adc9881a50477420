/** The page that shows the design system. */
export const design = {
  controls: "Controls",
  danger: "Dangerous action",
  headings: "Heading of a panel",
  kinds: "Kinds of records",
  notice: "Notice",
  noticeText: "A notice says what happened, and what to do.",
  primary: "Primary action",
  secondary: "Secondary action",
  secondaryText: "Secondary text",
  statuses: "Statuses",
  surfaces: "Surfaces",
  text: "Text",
  title: "Design system",
  tones: {
    bad: { example: "Unreachable", meaning: "Broken" },
    good: { example: "Online", meaning: "Working" },
    idle: { example: "Deactivated", meaning: "Inactive" },
    waiting: { example: "Pending", meaning: "Waiting" },
  },
} as const;
