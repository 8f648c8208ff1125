import { expect } from 'chai';
import { addressRule } from '../../../adapters/webhook-sender/addresses.js';

describe('the rule for webhook addresses', () => {
  const isAllowed = addressRule([]);

  for (const address of [
    '93.184.215.14',
    '8.8.8.8',
    '2606:2800:21f:cb07:6820:80da:af6b:8b2c',
    '::ffff:8.8.8.8',
  ]) {
    it(`allows ${address}`, () => expect(isAllowed(address)).to.equal(true));
  }

  const refused = [
    '127.0.0.1', '127.255.255.254', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '100.64.0.1', '100.100.100.200',
    '168.63.129.16', '192.0.0.192', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '192.88.99.1',
    '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'fec0::1', 'ff02::1', '2001:db8::1', '2002:7f00:1::', '2001:0:7f00:1::', '64:ff9b::7f00:1', '64:ff9b:1::1',
    '::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '100::1', '100:0:0:1::1', '4000::1', 'nonsense', '',
  ]; // prettier-ignore
  for (const address of refused)
    it(`refuses ${JSON.stringify(address)}`, () => expect(isAllowed(address)).to.equal(false));

  it('allows addresses of the allowed networks, and no other private ones', () => {
    const allowing = addressRule(['10.0.0.0/8', 'fd00::/8', '192.168.1.7/32']);
    expect(['10.9.9.9', '::ffff:10.9.9.9', 'fd12::1', '192.168.1.7', '8.8.8.8'].map(allowing)).to.deep.equal([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(['11.0.0.1', '127.0.0.1', 'fc00::1', '192.168.1.8', '172.16.0.1'].map(allowing)).to.deep.equal([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
