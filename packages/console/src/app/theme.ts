import {
  Alert,
  type CSSVariablesResolver,
  createTheme,
  type MantineColorsTuple,
  type MenuProps,
  type ModalProps,
  type NotificationProps,
} from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { createElement } from "react";
import { t } from "../messages/i18n.ts";

/** The accent: the only colour without a fixed meaning. */
const gate: MantineColorsTuple = [
  "#eef2ff",
  "#dde5ff",
  "#b7c7fe",
  "#8fa8fb",
  "#6c8cf6",
  "#5c7ff2",
  "#4f72ec",
  "#4063df",
  "#3357d0",
  "#2a49b3",
];

/** Text, lines and surfaces of the dark theme, from light to dark. */
const dark: MantineColorsTuple = [
  "#e4e8ee",
  "#c5ccd6",
  "#a3adba",
  "#8490a0",
  "#303846",
  "#252c37",
  "#1a2029",
  "#11161d",
  "#0c0f14",
  "#080a0d",
];

/** The text of the light theme. */
const ink = "#1b2430";

/** Shades with a contrast of at least 4.5:1 between text and background (WCAG 2.2, 1.4.3), in both themes. */
export const theme = createTheme({
  primaryColor: "gate",
  primaryShade: { light: 8, dark: 8 },
  black: ink,
  colors: { gate, dark },
  autoContrast: true,
  defaultRadius: "md",
  fontFamily: "var(--font)",
  // Dense enough for lists, and not below 12 pixels.
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem" },
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "1.375rem" }, h2: { fontSize: "0.9375rem" } } },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Dialogs and notices are loaded when they open, so the theme does not import their components.
    Modal: {
      // A header that is not part of a section would be a second banner of the page.
      defaultProps: { attributes: { header: { role: "presentation" } } } satisfies Partial<ModalProps>,
      styles: { title: { fontWeight: 600 } },
    },
    Notification: {
      defaultProps: { closeButtonProps: { "aria-label": t("common.close") } } satisfies Partial<NotificationProps>,
    },
    // The least size of a target (WCAG 2.2, 2.5.8).
    InputClearButton: { styles: { root: { minWidth: 24, minHeight: 24 } } },
    SegmentedControl: { defaultProps: { withItemsBorders: false } },
    Switch: { defaultProps: { withThumbIndicator: false } },
    Loader: { defaultProps: { color: "var(--mantine-color-anchor)" } },
    Menu: {
      defaultProps: {
        // Render the menu inside the landmark of its button, and focus its first item. A menu may contain only items.
        withinPortal: false,
        withInitialFocusPlaceholder: false,
        // A menu that fits neither below nor above its button covers it. It scrolls if it is taller than the screen.
        middlewares: {
          shift: { crossAxis: true, padding: 8, limiter: { fn: ({ x, y }) => ({ x, y }) } },
          size: { padding: 8 },
        },
      } satisfies Partial<MenuProps>,
      styles: { dropdown: { overflowY: "auto" } },
    },
    // Narrow screens show tables as blocks (tables.css). Browsers can then drop the roles of their elements.
    Table: { defaultProps: { role: "table" } },
    TableThead: { defaultProps: { role: "rowgroup" } },
    TableTbody: { defaultProps: { role: "rowgroup" } },
    TableTr: { defaultProps: { role: "row" } },
    TableTh: { defaultProps: { role: "columnheader" } },
    TableTd: { defaultProps: { role: "cell" } },
    // Every notice has an icon. Those that a screen reader must announce at once set their own role.
    Alert: Alert.extend({
      defaultProps: { role: "note", variant: "outline", icon: createElement(TriangleAlert, { "aria-hidden": true }) },
      styles: {
        label: { color: "var(--mantine-color-text)" },
        message: { color: "var(--mantine-color-text)" },
      },
    }),
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-text": ink,
    "--mantine-color-default-color": ink,
    "--mantine-color-dimmed": "#4b5560",
    "--mantine-color-placeholder": "#646d76",
    "--mantine-color-anchor": "#2a49b3",
    "--mantine-color-error": "#c92a2a",
    "--mantine-color-body": "#f5f6f8",
    "--mantine-color-default-border": "var(--edge)",
    "--mantine-color-disabled": "var(--disabled)",
    "--mantine-color-disabled-color": "var(--disabled-text)",
    "--mantine-color-yellow-outline": "var(--notice-warning)",
    "--mantine-color-red-outline": "var(--notice-problem)",
  },
  dark: {
    "--mantine-color-dimmed": "#b4bac2",
    "--mantine-color-placeholder": "#a0a6ae",
    "--mantine-color-anchor": "#9db4fd",
    "--mantine-color-error": "#ff8787",
    "--mantine-color-body": "#0c0f14",
    "--mantine-color-default-border": "var(--edge)",
    "--mantine-color-disabled": "var(--disabled)",
    "--mantine-color-disabled-color": "var(--disabled-text)",
    "--mantine-color-yellow-outline": "var(--notice-warning)",
    "--mantine-color-red-outline": "var(--notice-problem)",
  },
});
