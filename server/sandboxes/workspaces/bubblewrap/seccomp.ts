/**
 * The system calls that a program in a bubblewrap sandbox is refused, as a classic BPF program for `bwrap --seccomp`: those
 * that look into other processes, make or enter namespaces, or reach parts of the kernel that no program needs. What is
 * refused fails with EPERM; `clone3` fails with ENOSYS, so that libraries fall back to `clone`, whose flags can be read.
 */

import { SandboxUnavailable } from "trailgym/env";

const numbers = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    clone3: 435,
    refused: {
      ptrace: 101,
      process_vm_readv: 310,
      process_vm_writev: 311,
      kcmp: 312,
      pidfd_getfd: 438,
      unshare: 272,
      setns: 308,
      mount: 165,
      umount2: 166,
      pivot_root: 155,
      chroot: 161,
      open_tree: 428,
      move_mount: 429,
      fsopen: 430,
      fsconfig: 431,
      fsmount: 432,
      fspick: 433,
      mount_setattr: 442,
      bpf: 321,
      perf_event_open: 298,
      userfaultfd: 323,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      init_module: 175,
      delete_module: 176,
      finit_module: 313,
      kexec_load: 246,
      kexec_file_load: 320,
      reboot: 169,
      swapon: 167,
      swapoff: 168,
      acct: 163,
      quotactl: 179,
      syslog: 103,
      open_by_handle_at: 304,
      modify_ldt: 154,
      ioperm: 173,
      iopl: 172,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    refused: {
      ptrace: 117,
      process_vm_readv: 270,
      process_vm_writev: 271,
      kcmp: 272,
      pidfd_getfd: 438,
      unshare: 97,
      setns: 268,
      mount: 40,
      umount2: 39,
      pivot_root: 41,
      chroot: 51,
      open_tree: 428,
      move_mount: 429,
      fsopen: 430,
      fsconfig: 431,
      fsmount: 432,
      fspick: 433,
      mount_setattr: 442,
      bpf: 280,
      perf_event_open: 241,
      userfaultfd: 282,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      init_module: 105,
      delete_module: 106,
      finit_module: 273,
      kexec_load: 104,
      kexec_file_load: 294,
      reboot: 142,
      swapon: 224,
      swapoff: 225,
      acct: 89,
      quotactl: 60,
      syslog: 116,
      open_by_handle_at: 265,
    },
  },
} as const;

// Classic BPF: u16 code, u8 jump if true, u8 jump if false, u32 operand.
const [load, jumpIfEqual, jumpIfAbove, jumpIfAnyBit, ret] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [allow, kill, refuse] = [0x7fff0000, 0x80000000, 0x00050000];
const [eperm, enosys] = [1, 38];
/** Offsets in `struct seccomp_data`; the low half of the first argument on a little-endian machine. */
const [number, architecture, firstArgument] = [0, 4, 16];
/** Bits of `clone` that make a namespace: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaces = 0x7e020000;
/** From here on the numbers of x86's 32-bit-pointer calls begin, which would go around the others. */
const x32 = 0x40000000;

/** @throws SandboxUnavailable on a processor whose calls are not known here */
export function seccompFilter(arch: string = process.arch): Buffer {
  if (arch !== "x64" && arch !== "arm64")
    throw new SandboxUnavailable("workspace", `no system call filter for ${arch}; use the docker backend`);
  const { audit, clone, clone3, refused } = numbers[arch];
  const program: [code: number, ifTrue: number, ifFalse: number, operand: number][] = [
    [load, 0, 0, architecture],
    [jumpIfEqual, 1, 0, audit],
    [ret, 0, 0, kill],
    [load, 0, 0, number],
    [jumpIfAbove, 0, 1, x32],
    [ret, 0, 0, refuse | enosys],
    [jumpIfEqual, 0, 1, clone3],
    [ret, 0, 0, refuse | enosys],
    [jumpIfEqual, 0, 4, clone],
    [load, 0, 0, firstArgument],
    [jumpIfAnyBit, 0, 1, namespaces],
    [ret, 0, 0, refuse | eperm],
    [ret, 0, 0, allow],
  ];
  for (const each of Object.values(refused)) program.push([jumpIfEqual, 0, 1, each], [ret, 0, 0, refuse | eperm]);
  program.push([ret, 0, 0, allow]);
  const bytes = Buffer.alloc(8 * program.length);
  for (const [i, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * i);
    bytes.writeUInt8(ifTrue, 8 * i + 2);
    bytes.writeUInt8(ifFalse, 8 * i + 3);
    bytes.writeUInt32LE(operand >>> 0, 8 * i + 4);
  }
  return bytes;
}
