import { execFileSync } from 'node:child_process';

/**
 * Whether a process stands still. A signal to stop takes effect when the process is scheduled next: on a busy
 * machine after a while.
 */
export const standsStill = ({ pid }: { readonly pid?: number | undefined }): boolean =>
  execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('T');
