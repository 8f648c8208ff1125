import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

const cacheTtl: Milliseconds = 5_000;

const usualPath = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';

/**
 * The names in a hosts file, in lower case, each with its addresses. Lines that can't be read are skipped.
 */
export const parseHosts = (text: string): ReadonlyMap<string, readonly ResolvedAddress[]> => {
  const hosts = new Map<string, ResolvedAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map((written) => written.toLowerCase()))
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }]);
  }
  return hosts;
};

/**
 * Looks a name up in the hosts file of this machine, because `dns.Resolver` asks name servers only. Returns
 * no address for a name that is not there.
 */
export const hostsFile = (clock: Clock, path = usualPath) => {
  let read: { readonly at: Milliseconds; readonly hosts: Promise<ReturnType<typeof parseHosts>> } | null =
    null;
  return async (name: string): Promise<readonly ResolvedAddress[]> => {
    const now = clock.monotonic();
    if (read === null || now - read.at >= cacheTtl)
      read = { at: now, hosts: readFile(path, 'utf8').then(parseHosts, () => new Map()) };
    return (await read.hosts).get(name.toLowerCase()) ?? [];
  };
};
