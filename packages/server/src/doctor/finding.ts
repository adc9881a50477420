/** The result of one check of `gatehouse doctor`. */
export interface Finding {
  /** The check that was made. */
  readonly check: Check;
  /** `skipped`: the check does not apply, or needs something that is missing. */
  readonly status: "ok" | "warning" | "problem" | "skipped";
  /** The fact that was found, with the value. Never contains a secret. */
  readonly message: string;
  /** The fix; present for warnings and problems. */
  readonly remedy?: string;
}

export type Check =
  | "settings"
  | "data folder"
  | "master key"
  | "disk"
  | "clock"
  | "database"
  | "database role"
  | "database locale"
  | "schema"
  | "secrets"
  | "tls"
  | "public url"
  | "port"
  | "agents";

export const ok = (check: Check, message: string): Finding => ({ check, status: "ok", message });
export const skipped = (check: Check, message: string): Finding => ({ check, status: "skipped", message });
export const warning = (check: Check, message: string, remedy: string): Finding => ({
  check,
  status: "warning",
  message,
  remedy,
});
export const problem = (check: Check, message: string, remedy: string): Finding => ({
  check,
  status: "problem",
  message,
  remedy,
});

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
