import { readFileSync, readlinkSync } from 'node:fs';
import type { Machine } from '../../adapters/mongodb/client/leases.js';
import { codeOf } from '../../domain/errors.js';

/**
 * This machine's start and this process's namespace: the numbers of processes mean the same only where both
 * are equal. Containers on one machine have namespaces of their own, and may have the same host name.
 */
const numbering = (): string => {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
};

/**
 * When a process began, in ticks since the machine's start; `hidden` if that can't be seen, null if there is
 * none of that number, or it has ended.
 */
const beginningOf = (pid: number): string | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold anything; the state follows it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return isHidden(pid) ? hidden : null;
    throw error;
  }
};

const hidden = 'hidden';

/** Whether there is a process of that number which only its own user may see. */
const isHidden = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
};

/** This machine, as far as Linux describes it; elsewhere nothing is known. */
export const thisMachine = (): Machine => {
  try {
    const where = numbering();
    const ours = beginningOf(process.pid);
    return {
      self: ours === null || ours === hidden ? null : `${where} ${process.pid} ${ours}`,
      isGone: (name) => {
        if (!name.startsWith(`${where} `)) return false;
        const [pid, beginning] = name.slice(where.length + 1).split(' ');
        const now = beginningOf(Number(pid));
        return now !== beginning && now !== hidden;
      },
    };
  } catch {
    return { self: null, isGone: () => false };
  }
};
