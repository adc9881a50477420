/** Device nodes for tests that run programs as root, which must not change the nodes of this machine. */

/**
 * Shell function that mounts a folder of device nodes at $1, in the mount namespace of its caller. crun gives the user
 * of a container the files that the container's streams are, and systemd changes the modes of devices.
 */
export const mountDevices = `mount_devices() {
  mount -t tmpfs -o mode=755 tmpfs "$1"
  for device in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 0666 "$1/\${device%:*}" c 1 "\${device#*:}"
  done
  mknod -m 0666 "$1/tty" c 5 0
  mkdir -m 1777 "$1/shm"
}`;
