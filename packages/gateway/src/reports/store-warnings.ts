/** Why the active configuration is not in the state folder, and why it has no copy in the runtime folder. */
interface StoreFailures {
  readonly failure: string | undefined;
  readonly copyFailure: string | undefined;
}

/** Returns warnings about configurations that a restart would not find. */
export function storeWarnings({ failure, copyFailure }: StoreFailures): readonly string[] {
  if (failure === undefined && copyFailure === undefined) return [];
  if (failure === undefined) {
    return [
      `The configuration cannot be copied to the runtime folder (${copyFailure}). If the state folder also fails, a restart enforces an earlier configuration until the control plane is reached.`,
    ];
  }
  return [
    copyFailure === undefined
      ? `The configuration or its signing key cannot be stored (${failure}). The runtime folder has a copy. If the copy is lost, for example because of a reboot, the next start enforces an earlier configuration until the control plane is reached.`
      : `The configuration or its signing key cannot be stored (${failure}), and cannot be copied to the runtime folder (${copyFailure}). A restart enforces an earlier configuration until the control plane is reached.`,
  ];
}
