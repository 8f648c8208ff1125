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
 * The hosts file of this machine. It is read by this class because `dns.Resolver` asks name servers only.
 */
export class HostsFile {
  #read: { readonly at: Milliseconds; readonly hosts: Promise<ReturnType<typeof parseHosts>> } | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly path = usualPath,
  ) {}

  /** The addresses of a name; none if the file doesn't have it. */
  async addressesOf(name: string): Promise<readonly ResolvedAddress[]> {
    const now = this.clock.monotonic();
    if (this.#read === null || now - this.#read.at >= cacheTtl)
      this.#read = { at: now, hosts: readFile(this.path, 'utf8').then(parseHosts, () => new Map()) };
    return (await this.#read.hosts).get(name.toLowerCase()) ?? [];
  }
}
