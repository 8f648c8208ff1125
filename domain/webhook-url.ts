import { DomainError } from './errors.js';
import type { Brand } from './ids.js';
import { truncate, withMaxLength, type TextRule } from './text.js';

/**
 * The address of a webhook endpoint, normalised: its identity within an organization. (decision 56: which
 * URLs are accepted, and when two are one)
 */
export type WebhookUrl = Brand<string, 'WebhookUrl'>;

/** To which hosts and ports webhooks may be sent. The sender knows to which IP addresses. */
export interface WebhookUrlRules {
  /** Host names and addresses of the service itself, in the form of `hostOf`. */
  readonly ownHosts: ReadonlySet<string>;
  /** Null means any port. */
  readonly ports: ReadonlySet<number> | null;
  /** Addresses and ports that the service listens on, as `hostOf` and a port: `127.0.0.1:8080`. */
  readonly ownAddresses?: ReadonlySet<string>;
}

/** In the normalised form. (decision 56: which URLs are accepted, and when two are one) */
const maxUrlLength = 2048;

const refusal = (message: string) => new DomainError('invalid_url', message);

const withoutFinalDot = (host: string): string => (host.endsWith('.') ? host.slice(0, -1) : host);

/** An IPv4 address written as an IPv6 one (`[::ffff:7f00:1]`) is the IPv4 address. */
const unmapped = (host: string): string => {
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(host);
  if (mapped === null) return host;
  const [high, low] = [parseInt(mapped[1] ?? '', 16), parseInt(mapped[2] ?? '', 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
};

/**
 * The host of a URL in the form in which hosts are compared: lower case, without port and final dot,
 * addresses in their shortest form.
 */
export const hostOf = (url: URL): string => unmapped(withoutFinalDot(url.hostname));

/**
 * The hosts in a list of names and addresses, in the form of `hostOf`. Throws a TypeError for an entry that
 * isn't a host.
 */
export const hostSet = (hosts: readonly string[]): ReadonlySet<string> =>
  new Set(
    hosts.map((host) =>
      hostOf(new URL(`https://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`)),
    ),
  );

/** Names that the resolvers of clouds give to their metadata addresses. */
const metadataHosts: ReadonlySet<string> = new Set([
  'metadata.google.internal',
  'metadata.goog',
  'instance-data.ec2.internal',
]);

/** The last parts of names that only private networks have. */
const privateZones = [
  'local',
  'localdomain',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'home.arpa',
];

/**
 * Whether only a private network can know a host name, in the form of `hostOf`. A registration must not
 * reveal which of these names exist.
 */
export const isPrivateName = (host: string): boolean =>
  (!host.includes('.') && !host.startsWith('[')) || privateZones.some((zone) => host.endsWith(`.${zone}`));

export const portOf = (url: URL): number => (url.port === '' ? 443 : Number(url.port));

/** Whether the service listens on an address and a port; `host` in the form of `hostOf`. */
export const isOwnAddress = (
  { ownAddresses }: Pick<WebhookUrlRules, 'ownAddresses'>,
  host: string,
  port: number,
): boolean => ownAddresses?.has(`${host}:${port}`) === true;

/**
 * Throws `invalid_url` for a host or a port to which webhooks may not be sent. No setting lifts the rule
 * about the service's own hosts. (decision 56: which URLs are accepted, and when two are one)
 */
export const checkTarget = (url: URL, rules: WebhookUrlRules): void => {
  const { ownHosts, ports } = rules;
  const host = hostOf(url);
  if (ownHosts.has(host) || isOwnAddress(rules, host, portOf(url)))
    throw refusal("A webhook can't be sent to this service itself. Use the address of your own receiver.");
  if (host === 'localhost' || host.endsWith('.localhost'))
    throw refusal(
      '`localhost` is not allowed as a webhook address. To receive events on this machine, use `webhook listen` or a tunnel.',
    );
  if (metadataHosts.has(host))
    throw refusal(`\`${host}\` is not allowed as a webhook address. Use an address on the public internet.`);
  if (ports !== null && !ports.has(portOf(url)))
    throw refusal(`Port ${portOf(url)} is not allowed. These are: ${[...ports].join(', ')}.`);
};

const normalisedUrl = (text: string): WebhookUrl => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null)
    throw refusal(
      `\`${truncate(text, 100)}\` is not a URL. Send an absolute one, such as https://example.com/webhooks.`,
    );
  if (url.protocol !== 'https:')
    throw refusal(`A webhook address must begin with https://, not ${url.protocol}//.`);
  if (url.username !== '' || url.password !== '')
    throw refusal("A webhook address can't contain a user name or a password. Verify the signature instead.");
  url.hash = '';
  url.hostname = withoutFinalDot(url.hostname);
  if (url.hostname === '' || url.hostname.split('.').includes(''))
    throw refusal(`The host name ${url.hostname} has an empty part. Take out a dot.`);
  if (url.href.length > maxUrlLength)
    throw refusal(`A webhook address may have at most ${maxUrlLength} characters, not ${url.href.length}.`);
  return url.href as WebhookUrl;
};

/**
 * Normalises the address of an endpoint: https, without user info, fragment and final dot of the host, at
 * most 2,048 characters. `checkTarget` checks whether webhooks may be sent there. Throws `invalid_url`.
 * (decision 56: which URLs are accepted, and when two are one)
 */
export const readWebhookUrl: TextRule<WebhookUrl> = withMaxLength(maxUrlLength, normalisedUrl);
