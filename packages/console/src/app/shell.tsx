/** The frame around every page: navigation, search, theme and account. */
import {
  ActionIcon,
  AppShell,
  Button,
  Group,
  Kbd,
  NavLink,
  ScrollArea,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { CircleUser, Menu, Moon, Search, Sun, X } from "lucide-react";
import { type ComponentType, useEffect, useRef, useState } from "react";
import { t } from "../messages/i18n.ts";
import { DemoNotice } from "./demo.tsx";
import iconUrl from "./icon.svg";
import { useLiveUpdates } from "./live-updates.ts";
import { sections } from "./page-set.ts";
import { usePageSets } from "./page-sets.ts";
import { isApple, paletteShortcut } from "./palette-shortcut.ts";
import { RouteFocus } from "./route-focus.tsx";
import { useIsVisitor, useSession } from "./session.ts";

/** The margin beside the header and beside the page. */
const inset = { base: "sm", sm: "lg" };

export function Shell() {
  const [opened, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the menu
  useEffect(close, [pathname]);
  useLiveUpdates();
  const isVisitor = useIsVisitor();
  const [Palette, openPalette] = usePalette();
  return (
    <AppShell
      // With its border, so that the controls stand on whole pixels.
      header={{ height: 49 }}
      {...(isVisitor ? {} : { navbar: { width: 232, breakpoint: "sm", collapsed: { mobile: !opened } } })}
      padding={inset}
    >
      {/* Below the page, it would make the window scroll. */}
      <RouteFocus />
      <a className="skip" href="#page">
        {t("app.navigation.skip")}
      </a>
      <AppShell.Header px={inset}>
        <div className="header-bar">
          <Group gap="sm" wrap="nowrap">
            {!isVisitor && (
              <ActionIcon
                variant="default"
                size="lg"
                hiddenFrom="sm"
                aria-label={t("app.navigation.toggle")}
                aria-expanded={opened}
                onClick={toggle}
              >
                {opened ? <X size={18} aria-hidden /> : <Menu size={18} aria-hidden />}
              </ActionIcon>
            )}
            <img src={iconUrl} alt="" width={24} height={24} />
            <Text fw={600} visibleFrom="sm">
              Gatehouse
            </Text>
          </Group>
          {!isVisitor && (
            <Button
              variant="default"
              fw={400}
              size="sm"
              leftSection={<Search size={16} aria-hidden />}
              rightSection={<Kbd visibleFrom="sm">{isApple ? "⌘ K" : "Ctrl K"}</Kbd>}
              onClick={openPalette}
              styles={{ label: { flex: 1, color: "var(--mantine-color-placeholder)" } }}
            >
              {t("app.palette.search")}
            </Button>
          )}
          <Group gap="xs" wrap="nowrap">
            <ThemeToggle />
            <Account />
          </Group>
        </div>
      </AppShell.Header>
      {!isVisitor && (
        <AppShell.Navbar px="xs" py={4} aria-label={t("app.navigation.label")}>
          <ScrollArea>
            <Navigation pathname={pathname} />
          </ScrollArea>
        </AppShell.Navbar>
      )}
      <AppShell.Main id="page" tabIndex={-1}>
        <DemoNotice />
        <Outlet />
      </AppShell.Main>
      {Palette !== undefined && <Palette />}
    </AppShell>
  );
}

/** The command palette, which is loaded when it is first opened. From then on, it listens to its shortcut itself. */
function usePalette(): readonly [ComponentType | undefined, () => void] {
  const [loaded, setLoaded] = useState<{ readonly Palette: ComponentType }>();
  const open = async () => {
    try {
      const { Palette, palette } = await import("./palette.tsx");
      setLoaded({ Palette });
      palette.open();
    } catch {
      // The server cannot be reached. Pages report that; the palette is tried again when it is next opened.
    }
  };
  useHotkeys(loaded === undefined ? [[paletteShortcut, () => void open()]] : [], []);
  return [loaded?.Palette, () => void open()];
}

function Navigation({ pathname }: { readonly pathname: string }) {
  const current = useRef<HTMLAnchorElement>(null);
  // The entries of a low window scroll. The page's own one is always in view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation changes the current entry
  useEffect(() => {
    // Chromium's method returns a promise, which is not a function that ends an effect.
    current.current?.scrollIntoView?.({ block: "nearest" });
  }, [pathname]);
  const { permissions } = useSession();
  const pageSets = usePageSets();
  return sections.map((section) => {
    const pages = pageSets.filter(
      (set) =>
        set.isHidden !== true &&
        set.section === section &&
        (set.permission === undefined || permissions.includes(set.permission)),
    );
    if (pages.length === 0) return null;
    return (
      <div key={section}>
        <Text size="xs" fw={600} c="dimmed" px="sm" pt={8} pb={2}>
          {t(`app.navigation.sections.${section}`)}
        </Text>
        {pages.map(({ path, title, icon: Icon }) => {
          const active = pathname === `/${path}` || pathname.startsWith(`/${path}/`);
          return (
            <NavLink
              key={path}
              component={Link}
              to={`/${path}`}
              label={title}
              leftSection={<Icon size={16} aria-hidden />}
              active={active}
              {...(active ? { "aria-current": "page" as const, ref: current } : {})}
              style={{ borderRadius: "var(--mantine-radius-md)" }}
            />
          );
        })}
      </div>
    );
  });
}

function ThemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={dark ? t("app.theme.light") : t("app.theme.dark")}
      onClick={() => setColorScheme(dark ? "light" : "dark")}
    >
      {dark ? <Sun size={18} aria-hidden /> : <Moon size={18} aria-hidden />}
    </ActionIcon>
  );
}

/** The button of the account menu, which is loaded when it is first needed. */
function Account() {
  const [loaded, setLoaded] = useState<{ readonly AccountMenu: ComponentType }>();
  const open = async () => {
    try {
      const { AccountMenu } = await import("./account-menu.tsx");
      setLoaded({ AccountMenu });
    } catch {
      // The server cannot be reached. Pages report that; the menu is tried again at the next click.
    }
  };
  if (loaded !== undefined) return <loaded.AccountMenu />;
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={t("app.account.label")}
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={() => void import("./account-menu.tsx").catch(() => undefined)}
      onClick={() => void open()}
    >
      <CircleUser size={18} aria-hidden />
    </ActionIcon>
  );
}
