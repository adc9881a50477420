/** A unix socket uses the port only in its name. */
export const serverPort = 5432;
export const serverSocketName = `.s.PGSQL.${serverPort}`;

/**
 * Settings for a small machine. Durability keeps PostgreSQL's defaults (`fsync`, `synchronous_commit`,
 * `full_page_writes` on): an acknowledged write survives a power loss.
 */
const smallMachine: Readonly<Record<string, string>> = {
  max_connections: "60", // Gatehouse pools; each connection costs memory
  shared_buffers: "128MB",
  max_wal_size: "512MB", // bounds the disk that a quiet installation needs
  jit: "off", // compiling costs more than our short queries take
  max_parallel_workers_per_gather: "0", // many short queries at once beat one that takes every core
  autovacuum_naptime: "5s", // statistics are renewed soon after a bulk insertion, which makes plans obsolete
  timezone: "UTC",
  // One line per event, without row contents: a DETAIL or STATEMENT line could show a secret.
  log_line_prefix: "%b: ",
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_timezone: "UTC",
};

/** Settings that the supervisor relies on. They cannot be overridden. */
function fixedSettings(socketDirectory: string): Record<string, string> {
  return {
    // No network: the packaged OpenSSL is old, and a socket in a 0700 folder needs no password.
    listen_addresses: "",
    port: String(serverPort),
    // The value is a comma-separated list, so the path is quoted.
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    // The supervisor reads the log from stderr.
    log_destination: "stderr",
    logging_collector: "off",
  };
}

/**
 * Returns the server's command line. The cluster's postgresql.conf contains no settings, so an upgrade applies new
 * ones.
 */
export function serverArguments(
  clusterDir: string,
  socketDirectory: string,
  extra: Readonly<Record<string, string>>,
): string[] {
  const settings = { ...smallMachine, ...extra, ...fixedSettings(socketDirectory) };
  return ["-D", clusterDir, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
