import ipaddr from 'ipaddr.js';

/** Whether webhooks may go to an IP address, given as text. */
export type AddressRule = (address: string) => boolean;

type Address = ReturnType<typeof ipaddr.process>;
type Network = readonly [Address, number];

/** Metadata services whose addresses lie outside the special ranges. */
const metadataServices: readonly Network[] = [[ipaddr.parse('168.63.129.16'), 32]];

/** The only IPv6 range that addresses are allocated from; everything outside is special or unallocated. */
const allocatedIpv6: Network = [ipaddr.parse('2000::'), 3];

const isIn = (address: Address, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match([network, bits]);

const isPublic = (address: Address): boolean => {
  if (address.range() !== 'unicast' || metadataServices.some((network) => isIn(address, network)))
    return false;
  return address.kind() === 'ipv4' || isIn(address, allocatedIpv6);
};

/**
 * Allows public addresses and those of the allowed networks (CIDRs). An IPv4 address that is mapped into IPv6
 * counts as that IPv4 address. Private, loopback, link-local, CGNAT, NAT64, 6to4, Teredo, documentation,
 * multicast and metadata addresses are not allowed. (decision 56: which URLs are accepted)
 */
export const addressRule = (allowed: readonly string[]): AddressRule => {
  const networks = allowed.map((cidr) => ipaddr.parseCIDR(cidr));
  return (text) => {
    const bare = text.replace(/%.*$/, '');
    if (!ipaddr.isValid(bare)) return false;
    const address = ipaddr.process(bare);
    return isPublic(address) || networks.some((network) => isIn(address, network));
  };
};
