/**
 * Scripts that dpkg runs. The service stops before an upgrade, because a running program could load a module of the
 * next version, and starts again after it. Removal keeps settings and data; purging deletes both.
 *
 * The installation waits a limited time for the start, which goes on afterwards: migrations may take long.
 */
export interface ServicePlan {
  /** Name of the unit, without `.service`. */
  readonly unit: string;
  /** File in sysusers.d with the service's user, if it has a permanent one. */
  readonly sysusers: string | undefined;
  /** File in sysctl.d to apply after the installation. */
  readonly sysctl: string | undefined;
  /** Files and folders besides the package's own that purging deletes. */
  readonly purged: readonly string[];
}

export function maintainerScripts({ unit, sysusers, sysctl, purged }: ServicePlan): Readonly<Record<string, string>> {
  const service = `${unit}.service`;
  const postinst = [
    'if [ "$1" = configure ] || [ "$1" = abort-upgrade ] || [ "$1" = abort-remove ]; then',
    ...(sysusers === undefined ? [] : [`  systemd-sysusers ${sysusers}`]),
    ...(sysctl === undefined
      ? []
      : [`  if [ -d /run/systemd/system ]; then /usr/lib/systemd/systemd-sysctl ${sysctl} || true; fi`]),
    `  deb-systemd-helper unmask '${service}' >/dev/null || true`,
    `  if deb-systemd-helper --quiet was-enabled '${service}'; then`,
    `    deb-systemd-helper enable '${service}' >/dev/null || true`,
    "  else",
    `    deb-systemd-helper update-state '${service}' >/dev/null || true`,
    "  fi",
    "  if [ -d /run/systemd/system ]; then",
    "    systemctl --system daemon-reload >/dev/null || true",
    `    timeout 90 deb-systemd-invoke start '${service}' >/dev/null || true`,
    "  fi",
    "fi",
  ];
  const prerm = [`if [ -d /run/systemd/system ]; then deb-systemd-invoke stop '${service}' >/dev/null || true; fi`];
  const postrm = [
    'if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl --system daemon-reload >/dev/null || true; fi',
    'if [ "$1" = purge ]; then',
    "  if command -v deb-systemd-helper >/dev/null; then",
    `    deb-systemd-helper purge '${service}' >/dev/null || true`,
    `    deb-systemd-helper unmask '${service}' >/dev/null || true`,
    "  fi",
    ...purged.map((file) => `  rm -rf ${file}`),
    "  rmdir --ignore-fail-on-non-empty /etc/gatehouse 2>/dev/null || true",
    "fi",
  ];
  return { postinst: script(postinst), prerm: script(prerm), postrm: script(postrm) };
}

function script(lines: readonly string[]): string {
  return ["#!/bin/sh", "set -e", "", ...lines, ""].join("\n");
}
