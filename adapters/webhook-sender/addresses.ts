import ipaddr from 'ipaddr.js';

/** Whether webhooks may go to an IP address, given as text. */
export type AddressRule = (address: string) => boolean;

type Address = ReturnType<typeof ipaddr.process>;
type Network = readonly [Address, number];

/** Metadata services that stand on addresses outside the special ranges. */
const metadata: readonly Network[] = [[ipaddr.parse('168.63.129.16'), 32]];

/** The only IPv6 addresses that are handed out; everything else is special or not allocated. */
const allocatedIpv6: Network = [ipaddr.parse('2000::'), 3];

const within = (address: Address, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match([network, bits]);

/**
 * Parses CIDRs such as `10.0.0.0/8`; a single address stands for itself. Throws an Error that names the one
 * at fault.
 */
export const parseNetworks = (cidrs: readonly string[]): readonly Network[] =>
  cidrs.map((cidr) => {
    const text = cidr.trim();
    if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
    if (!ipaddr.isValid(text) || (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)))
      throw new Error(`${text} is not a network such as 10.0.0.0/8`);
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  });

const isPublic = (address: Address): boolean => {
  if (address.range() !== 'unicast' || metadata.some((network) => within(address, network))) return false;
  return address.kind() === 'ipv4' || within(address, allocatedIpv6);
};

/**
 * Lets through public addresses, and those of the allowed networks. IPv4 addresses that are mapped into IPv6
 * count as what they stand for. Private, loopback, link-local, CGNAT, NAT64, 6to4, Teredo, documentation,
 * multicast and metadata addresses are refused. (decision 56)
 */
export const addressRule = (allowed: readonly string[]): AddressRule => {
  const networks = parseNetworks(allowed);
  return (text) => {
    const bare = text.replace(/%.*$/, '');
    if (!ipaddr.isValid(bare)) return false;
    const address = ipaddr.process(bare);
    return isPublic(address) || networks.some((network) => within(address, network));
  };
};
